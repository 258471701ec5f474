"""The loss that makes ReLUs sparse, by itself and in updates."""

import pytest
import torch

from models.train.network.network import mask
from models.train.updates.sparsity import density_loss, share_of_nonzeros


def test_what_it_says_of_a_row():
    equal, one = torch.full((3, 8), 2.5), torch.zeros(3, 8)
    one[:, 2] = 7
    assert float(density_loss(equal, 0)) == pytest.approx(1)
    assert float(density_loss(one, 0)) == pytest.approx(1 / 8)
    half = torch.cat([torch.ones(3, 4), torch.zeros(3, 4)], 1)
    assert float(density_loss(half, 0)) == pytest.approx(1 / 2) == share_of_nonzeros(half)
    assert float(density_loss(half, 0.49)) > float(density_loss(half, 0.5)) == 0  # it has reached the target
    found = [float(density_loss(factor * (half + one), 0)) for factor in (1, 1000, 1e-3)]  # no scale changes it
    assert found == pytest.approx([found[0]] * 3, rel=1e-4)


def test_small_outputs_shrink_and_the_largest_grows():
    outputs = torch.tensor([[0.1, 0.2, 0.3, 3.0]], requires_grad=True)
    density_loss(outputs, 0).backward()
    assert (outputs.grad[0] > 0).tolist() == [True, True, True, False]


@pytest.mark.parametrize("rows", [0, 3])
def test_nothing_is_no_loss(rows):
    outputs = torch.zeros(rows, 4, requires_grad=True)
    loss = density_loss(outputs, 0)
    assert float(loss) == 0
    (loss + outputs.sum()).backward()
    assert outputs.grad.isfinite().all()


def shares(updates, batch):
    """Returns shares over the real positions of each ReLU's outputs, by layer; means for equal names."""
    network, found = updates.network, {}
    network.rectified = []
    with torch.no_grad():
        network.teacher_forced(*batch[:3])
    sides = {"encoder": mask(batch.source_lengths, batch.sources.shape[1])}
    sides["decoder"] = mask(batch.target_lengths, batch.targets.shape[1])
    for name, outputs in network.rectified:
        found.setdefault(name, []).append(share_of_nonzeros(outputs[sides[name.split(".")[0]]]))
    network.rectified = None
    return {name: sum(some) / len(some) for name, some in found.items()}


def test_updates_make_every_layer_sparser(toy, float32):
    batch, _ = given = toy.batch(slice(0, 12))
    assert int(batch.target_lengths.min()) < batch.targets.shape[1]  # there is padding, which does not count
    dense, sparse = toy.updates(), toy.updates(density_weight=3.0)
    before = shares(sparse, batch)
    assert list(before) == ["encoder.0.feed_forward.inner", "decoder.0.feed_forward.inner"]
    sparse.update([given])
    assert sparse.densities == pytest.approx(before)
    losses = [(dense.update([given])[1], sparse.update([given])[1]) for _ in range(30)]
    left, without = shares(sparse, batch), shares(dense, batch)
    assert dense.densities == {} and sparse.network.rectified is None
    assert all(left[name] < 0.75 * without[name] for name in before), (before, without, left)
    assert losses[-1][1] < 0.9 * losses[0][1]  # and it learns all the same


def test_no_layer_goes_far_below_its_target(toy, float32):
    given = toy.batch(slice(0, 12))
    updates = toy.updates(density_weight=3.0, target_density=0.4)
    for _ in range(30):
        updates.update([given])
    assert all(0.25 < share < 0.45 for share in shares(updates, given[0]).values())
