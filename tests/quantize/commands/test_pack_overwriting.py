"""`quantize pack --force`: what it replaces, and what not."""

from cpunmt.formats.packed.packed_directory import verify
from quantize.commands.cli import main
from tests.sample_models.model_pairs import write_pair


def test_a_checkpoint_is_not_replaced_by_what_is_made_of_it(tmp_path, capsys):
    """`pack X X --force` destroyed the weights that it had read."""
    out = write_pair(tmp_path, 7).float32
    capsys.readouterr()
    before = verify(out)
    (tmp_path / "link").symlink_to(out)
    for target in (out, tmp_path / "link", out / "." / ".." / "float32"):
        assert main(["pack", str(out), str(target), "--scheme", "int8", "--force"]) == 1
        assert "is read, and would be replaced" in capsys.readouterr().err
    assert verify(out) == before
