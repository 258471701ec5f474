"""Products of many rows, in few shapes.

A product of a new shape costs oneDNN (PyTorch's products in bfloat16 on a CPU) some milliseconds of preparation, as
much as the product itself, and hardly two batches have the same number of pieces. So rows, also of gradients, are
padded with zeros to a multiple of ROWS.
"""

import torch

ROWS = 512


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(context, x, weight):
        device = x.device.type
        mixed = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight.dtype
        with torch.autocast(device, enabled=False):
            weight, filled = weight.to(mixed), filled_up(x, mixed)
            context.save_for_backward(filled, weight)
            context.dtype = x.dtype
            return (filled @ weight)[: len(x)]

    @staticmethod
    def backward(context, gradient):
        x, weight = context.saved_tensors
        with torch.autocast(gradient.device.type, enabled=False):
            filled = filled_up(gradient, weight.dtype)
            to_x = (filled @ weight.T)[: len(gradient)].to(context.dtype) if context.needs_input_grad[0] else None
            to_weight = transposed_product(x, filled).float() if context.needs_input_grad[1] else None
            return to_x, to_weight


def product(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Returns x weight: (..., in) times (in, out)."""
    shape = (*x.shape[:-1], weight.shape[1])
    if x.device.type != "cpu" or x.numel() < ROWS // 2 * x.shape[-1]:
        return (x.flatten(0, -2) @ weight).view(shape)
    return _Product.apply(x.flatten(0, -2), weight).view(shape)


def filled_up(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Returns the rows, in this type, with rows of zeros behind them."""
    count = _multiple(len(x))
    if count == len(x):
        return x.to(dtype)
    y = x.new_empty(count, x.shape[1], dtype=dtype)
    y[: len(x)] = x
    y[len(x) :] = 0
    return y


def empty_rows(steps: int, rows: int, width: int, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns empty memory of (steps, rows, width), and the same with rows of zeros behind, (more rows, width)."""
    count = _multiple(steps * rows)
    whole = like.new_empty(count, width)
    whole[steps * rows :] = 0
    return whole[: steps * rows].view(steps, rows, width), whole


def transposed_product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Returns left^T right, of (rows, ...): copying in that order first is faster than a transposed product."""
    return left.T.contiguous() @ right


def _multiple(count):
    return -(-count // ROWS) * ROWS
