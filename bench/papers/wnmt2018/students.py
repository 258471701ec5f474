"""Students, decoders and schemes: words/s, and BLEU of trained ones."""

from pathlib import Path

from bench.packing import pack_quietly
from bench.papers.wngt2019.decoders import shapes
from bench.students import write_student

SCHEMES = {"float32": "float32", "16 bits": "int16", "8 bits": "int8"}
DECODERS = ("self-attention", "AAN")


def write_random(folder: Path, size: str) -> dict[str, Path]:
    """Writes random students of `size`, see bench.papers.wngt2019: name -> directory."""
    found, fields = {}, shapes(size)
    for decoder in DECODERS:
        for name, scheme in SCHEMES.items():
            path = folder / f"{decoder}-{scheme}"
            write_student(path, "base", scheme, **fields[decoder])
            found[f"{decoder}, {name}"] = path
    return found


def pack_trained(checkpoints: list[tuple[str, str]], folder: Path) -> dict[str, Path]:
    """Packs trained ones, (name, path of a checkpoint), in each scheme: name -> directory."""
    found = {}
    for number, (decoder, checkpoint) in enumerate(checkpoints):
        for name, scheme in SCHEMES.items():
            path = folder / f"trained-{number}-{scheme}"
            pack_quietly(Path(checkpoint), path, "--scheme", scheme)
            found[f"{decoder}, {name}"] = path
    return found
