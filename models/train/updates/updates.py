"""One update of the parameters: gradients of several batches, clipping, Adam, averaging."""

from contextlib import nullcontext

import torch

from models.train.network.log4 import Rounding
from models.train.network.network import Network, mask
from models.train.network.output_loss import Prediction, output_loss
from models.train.text.batches import Batch
from models.train.updates.averaging import average_weight, update_average
from models.train.updates.configs import Settings
from models.train.updates.guided_alignment import alignment_loss
from models.train.updates.schedule import learning_rate
from models.train.updates.sparsity import density_loss, share_of_nonzeros

_BETAS, _EPSILON = (0.9, 0.98), 1e-9
_FOLLOWED = 100  # updates between two refits of the scales of rounded weights


def mixed_precision(device: torch.device):
    """Returns a context with products in bfloat16 if the device multiplies it faster; sums stay float32."""
    if device.type == "cuda":
        return torch.autocast("cuda", torch.bfloat16)
    supported = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)  # not public
    return torch.autocast("cpu", torch.bfloat16) if device.type == "cpu" and supported() else nullcontext()


class Updates:
    """Parameters in training, and `means`, their exponential moving averages.

    The network's tensors are `parameters`, or with `rounding` their rounded values: gradients are taken at the rounded
    weights and move the float ones. With a `teacher` the network learns its predictions (knowledge distillation)
    instead of the targets, which only select the places.
    """

    def __init__(
        self,
        network: Network,
        settings: Settings,
        device: torch.device,
        rounding: Rounding | None = None,
        teacher: Network | None = None,
    ):
        self.network, self.settings, self.device, self._teacher = network, settings, device, teacher
        if teacher is not None:
            teacher.tensors = {name: tensor.to(device) for name, tensor in teacher.tensors.items()}
        self.done = 0
        self.densities: dict[str, float] = {}  # with a density_weight: share of nonzeros by layer, of the last batch
        self.rounding = rounding
        self.parameters = {n: t.detach().to(device, copy=True).requires_grad_() for n, t in network.tensors.items()}
        if settings.weight_limit:
            self._limit()
        self.means = {name: tensor.detach().clone() for name, tensor in self.parameters.items()}
        if rounding is None:
            network.tensors = self.parameters
        else:
            network.tensors = {name: t.detach().clone().requires_grad_() for name, t in self.parameters.items()}
            self._round()
        parameters = list(self.parameters.values())
        self.adam = torch.optim.Adam(parameters, betas=_BETAS, eps=_EPSILON, fused=device.type in ("cpu", "cuda"))

    def update(self, batches: list[tuple[Batch, torch.Tensor | None]]) -> tuple[float, float]:
        """Learns from batches on the device, with their alignment points; returns (loss, cross-entropy) per target
        piece."""
        settings, self.done = self.settings, self.done + 1
        tokens = sum(batch.tokens for batch, _ in batches)
        totals = torch.zeros(2, device=self.device)
        self.network.dropout = settings.dropout
        for batch, points in batches:
            totals += self._gradients(batch, points, tokens)
        self.network.dropout = 0.0
        parameters = list(self.parameters.values())
        if self.rounding is not None:
            for name, tensor in self.network.tensors.items():
                self.parameters[name].grad, tensor.grad = tensor.grad, None
        torch.nn.utils.clip_grad_norm_(parameters, settings.clip_norm, error_if_nonfinite=True)
        for group in self.adam.param_groups:
            group["lr"] = self.rate()
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)
        if settings.weight_limit:
            self._limit()
        update_average(self.means, self.parameters, average_weight(self.done, settings.parameter_smoothing))
        if self.rounding is not None:
            if self.done % _FOLLOWED == 0:
                self.rounding.follow(self.parameters)
            self._round()
        loss, entropy = (totals / tokens).tolist()
        return loss, entropy

    def rate(self) -> float:
        """Returns the learning rate of the current or last update."""
        s = self.settings
        return learning_rate(self.done, s.peak_rate, s.warmup, s.updates, s.cooldown)

    def moments(self) -> dict[str, dict[str, torch.Tensor]]:
        """Returns Adam's means of gradients and of their squares."""
        found = {"adam_mean": {}, "adam_square": {}}
        for name, parameter in self.parameters.items():
            state = self.adam.state.get(parameter)
            for kind, key in (("adam_mean", "exp_avg"), ("adam_square", "exp_avg_sq")):
                found[kind][name] = state[key] if state else torch.zeros_like(parameter)
        return found

    @torch.no_grad()
    def restore(self, tensors: dict[str, dict[str, torch.Tensor]], done: int):
        """Continues from the tensors of a checkpoint, after this number of updates."""
        self.done = done
        for name, parameter in self.parameters.items():
            parameter.copy_(tensors["parameters"][name])
            self.means[name].copy_(tensors["means"][name])
            self.adam.state[parameter] = {
                "step": torch.tensor(float(done), device=self.device if self.device.type == "cuda" else "cpu"),
                "exp_avg": tensors["adam_mean"][name].to(self.device),
                "exp_avg_sq": tensors["adam_square"][name].to(self.device),
            }
        if self.rounding is not None:
            self.rounding.scales = {name: scales.to(self.device) for name, scales in tensors["scales"].items()}
            self._round()

    @torch.no_grad()
    def _limit(self):
        """Clips the numbers of matrices to the limit, and with them their means."""
        limit = self.settings.weight_limit
        for tensor in self.parameters.values():
            if tensor.dim() == 2:
                tensor.clamp_(-limit, limit)

    @torch.no_grad()
    def _round(self):
        for name, tensor in self.network.tensors.items():
            tensor.copy_(self.rounding(name, self.parameters[name]))

    def _gradients(self, batch, points, tokens):
        """Adds the gradients of one batch; returns sums of loss and cross-entropy."""
        settings = self.settings
        align, sparse = points is not None, bool(settings.density_weight)
        self.network.rectified = [] if sparse else None
        with mixed_precision(self.device):
            decoded = self.network.teacher_forced(batch.sources, batch.source_lengths, batch.targets, align)
            student = Prediction(batch.pieces(decoded.output), *self.network.output())
            wanted = batch.pieces(batch.targets)
            sums = output_loss(student, wanted, settings.label_smoothing, self._taught(batch))
        loss = sums[0] / tokens
        if align:
            share = settings.guided_alignment * batch.tokens / tokens
            loss = loss + share * alignment_loss(decoded.alignment, points)
        if sparse:
            loss = loss + settings.density_weight * batch.tokens / tokens * self._density(batch)
        loss.backward()
        return sums.detach()

    def _density(self, batch):
        """Returns the loss of all layers. Takes their outputs from the network, to free their memory."""
        outputs, self.network.rectified = self.network.rectified, None
        sources = mask(batch.source_lengths, batch.sources.shape[1])
        found = [(name, y[sources] if name.startswith("encoder.") else batch.pieces(y)) for name, y in outputs]
        shares = {}
        for name, y in found:  # layers with tied parameters have one name
            shares.setdefault(name, []).append(share_of_nonzeros(y))
        self.densities = {name: sum(some) / len(some) for name, some in shares.items()}
        return sum(density_loss(y, self.settings.target_density) for _, y in found)

    @torch.no_grad()
    def _taught(self, batch):
        """Returns the teacher's predictions."""
        if self._teacher is None:
            return None
        decoded = self._teacher.teacher_forced(batch.sources, batch.source_lengths, batch.targets)
        return Prediction(batch.pieces(decoded.output), *self._teacher.output())
