"""The other steps of the recipe as commands."""

from pathlib import Path

import torch

from cpunmt import Translator
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from models.train.commands.train import add_corpora, data_of
from models.train.distillation.distillation import distil
from models.train.distillation.sampling import noisy_pairs
from models.train.network.families import network_of
from models.train.network.network import torch_tensors
from models.train.text.corpora import read_corpora
from models.train.text.held_out import matches
from models.train.text.line_files import write_lines
from models.train.text.vocabulary import texts_of, train_vocabulary
from models.train.updates.averaging import averaged
from models.train.updates.export import write_float32, write_marian
from models.train.updates.validation import validate
from quantize.checkpoints.float_checkpoint import read_float_checkpoint


def add_parsers(commands):
    """Adds the commands."""
    parser = _command(commands, "check", "compare what is trained on with what is held out", check)
    add_corpora(parser)

    parser = _command(commands, "vocabulary", "train a SentencePiece vocabulary of both languages", vocabulary)
    add_corpora(parser)
    parser.add_argument("--size", type=int, default=8000, metavar="N", help="pieces (default: 8000)")
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="PIECE",
        help="the name of a target language, such as '>>de<<', with which sources begin; may be given several times",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")

    parser = _command(commands, "average", "the mean of a run's best checkpoints", average)
    parser.add_argument("run_folder", metavar="RUN", type=Path, help="folder of a run of `train`")
    parser.add_argument("--vocabulary", type=Path, required=True, metavar="FILE")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="gets model.npz and best/")

    parser = _command(
        commands, "distil", "the teachers' translations of the corpora, nearest to the references", distil_corpora
    )
    add_corpora(parser)
    _add_teachers(parser)

    parser = _command(commands, "noise", "noisy sources of the corpora's targets, translated", noise)
    add_corpora(parser)
    _add_teachers(parser)
    parser.add_argument(
        "--inverse",
        type=Path,
        action="append",
        required=True,
        metavar="PATH",
        help="model.npz or best/ of an inverse teacher; each of several samples one source of each target",
    )
    parser.add_argument("--vocabulary", type=Path, required=True, metavar="FILE")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--temperature", type=float, default=1.0, metavar="T", help="less than 1: less noise")
    parser.add_argument("--device", default="cpu", help="of the inverse teacher: cpu or cuda (default: cpu)")

    parser = _command(commands, "evaluate", "BLEU and chrF of a model, or of an ensemble, on the test sets", evaluate)
    parser.add_argument(
        "model", metavar="MODEL", nargs="+", help="directory of any kind that cpunmt loads; several are an ensemble"
    )
    add_corpora(parser)
    parser.add_argument("--section", default="test", metavar="NAME", help="of the description (default: test)")
    parser.add_argument("--beam-size", type=int, default=1, metavar="N")
    parser.add_argument("--most", type=int, metavar="N", help="only the first N sentences of each")


def _command(commands, name, told, run):
    """Adds one command; returns its parser."""
    parser = commands.add_parser(name, help=told, allow_abbrev=False)
    parser.set_defaults(run=run)
    return parser


def _add_teachers(parser):
    parser.add_argument(
        "--teacher", metavar="DIR", action="append", required=True, help="a packed model; several are an ensemble"
    )
    parser.add_argument("--beam-size", type=int, default=8, metavar="N", help="candidates (default: 8)")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="name.tsv.gz; goes on if part of it is there"
    )


def check(given) -> bool:
    """Reports the held-out texts in the files, and in the training data; returns False if the latter has any."""
    data = data_of(given)
    print("\n".join(data.report))
    raw = read_corpora(given.corpora, "train", given.source, given.target, given.data)
    clean = True
    for corpus in (*data.development, *read_corpora(given.corpora, "test", given.source, given.target, given.data)):
        before, used = matches(raw, corpus), matches(data.train, corpus)
        clean &= not any(used)
        print(
            f"{corpus.name}, {len(corpus.examples)} held out: in the files {before.exact} of its texts as they are and "
            f"{before.normalized} normalized, in training {used.exact} and {used.normalized}"
        )
    return clean


def vocabulary(given):
    """Trains a vocabulary on the training data."""
    data = data_of(given)
    train_vocabulary(texts_of(data.train), given.size, given.out, given.name)


def average(given):
    """Writes the mean of a run's checkpoints."""
    paths = sorted((given.run_folder / "checkpoints").glob("[0-9]*"), key=lambda path: int(path.stem))
    if not paths:
        raise FileNotFoundError(f"{given.run_folder}: has no checkpoints; expected the folder of a run of `train`")
    read = [read_float_checkpoint(path) for path in paths]
    config, tensors = read[0][0], torch_tensors(averaged([arrays for _, arrays in read]))
    given.out.mkdir(parents=True, exist_ok=True)
    write_marian(given.out / "model.npz", config, tensors)
    write_float32(given.out / "best", config, tensors, given.vocabulary)
    print(f"{given.out}: the mean of the checkpoints after {', '.join(path.stem for path in paths)} updates")


def distil_corpora(given):
    """Writes rows (source, nearest translation, reference)."""
    data = data_of(given)
    teacher = Translator(given.teacher)
    examples = [example for corpus in data.train for example in corpus.examples]
    write_lines(given.out, examples, lambda some, _: distil(teacher, some, given.beam_size))


def noise(given):
    """Writes rows (noisy source, its translation, real target)."""
    data = data_of(given)
    teacher, pieces = Translator(given.teacher), Vocabulary(given.vocabulary)
    inverses = []
    for path in given.inverse:
        config, arrays = read_float_checkpoint(path)
        on_device = {name: tensor.to(given.device) for name, tensor in torch_tensors(arrays).items()}
        inverses.append(network_of(config, on_device))
    targets = [example.targets[0] for corpus in data.train for example in corpus.examples]

    def make(some, first):
        rows = []
        for number, inverse in enumerate(inverses):
            seed = (given.seed + number) * 1_000_003 + first
            rows += noisy_pairs(inverse, teacher, pieces, some, seed, given.beam_size, given.temperature)
        return rows

    torch.set_num_threads(1)
    write_lines(given.out, targets, make, window=64)


def evaluate(given):
    """Prints the scores of a model."""
    corpora = read_corpora(given.corpora, given.section, given.source, given.target, given.data)
    for name, score in validate(given.model, corpora, given.beam_size, given.most).items():
        print(f"{name:16} BLEU {score.bleu:5.2f}  chrF {score.chrf:5.2f}")
