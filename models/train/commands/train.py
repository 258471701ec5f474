"""`train`: trains one model, from corpora to a directory that cpunmt runs."""

import dataclasses
import fnmatch
import functools
from pathlib import Path

from cpunmt.text.vocabularies.vocabulary import Vocabulary
from models.train.network.families import network_of
from models.train.network.growth import grown, of_vocabulary
from models.train.network.network import initial_tensors, torch_tensors
from models.train.text.batches import encode
from models.train.text.data import Data, read_data
from models.train.updates.configs import CONTINUED, LOG4, RECURRENT, SHAPES, Settings, model_config, settings_of
from models.train.updates.trainer import Lessons, Trainer
from models.train.updates.validation import validate
from quantize.checkpoints.float_checkpoint import read_float_checkpoint

ENDE = Path(__file__).parents[1] / "ende.yaml"


def add_corpora(parser, corpora: Path = ENDE):
    """Adds options for the choice of texts."""
    parser.add_argument("--data", metavar="DIR", type=Path, required=True, help="the folder of the corpora")
    parser.add_argument(
        "--corpora", metavar="FILE", type=Path, default=corpora, help=f"their description (default: {corpora.name})"
    )
    parser.add_argument("--source", default="en", metavar="LANGUAGE", help="language translated from (default: en)")
    parser.add_argument("--target", default="de", metavar="LANGUAGE", help="language translated into (default: de)")


def data_of(given) -> Data:
    """Returns the settings of these options."""
    return read_data(given.corpora, given.data, given.source, given.target)


def add_parser(commands):
    """Adds `train`, with an option for every setting."""
    parser = commands.add_parser("train", help="train a model, or go on where it stopped", allow_abbrev=False)
    parser.add_argument("shape", choices=sorted([*SHAPES, *RECURRENT]), help="which model: see configs.py")
    add_corpora(parser)
    parser.add_argument("--vocabulary", metavar="FILE", type=Path, required=True, help="SentencePiece model")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, required=True, help="the run's folder; if it has a checkpoint, go on"
    )
    parser.add_argument(
        "--initial",
        metavar="PATH",
        type=Path,
        help="begin with the parameters of a checkpoint or of a packed directory, of any shape: growth.py",
    )
    parser.add_argument(
        "--initial-vocabulary",
        metavar="FILE",
        type=Path,
        help="with --initial: the vocabulary of that model, if it is another one",
    )
    parser.add_argument(
        "--fresh",
        metavar="PATTERN",
        help="with --initial: parameters of such names, as of the shell, begin with random weights all the same",
    )
    parser.add_argument("--log4", action="store_true", help="weights are rounded to 4 bits while they are trained")
    parser.add_argument(
        "--imitate",
        metavar="PATH",
        type=Path,
        help="learn what this model, of any shape, predicts at each place of the texts, instead of their next piece",
    )
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")
    for field in dataclasses.fields(Settings):
        parser.add_argument(
            f"--{field.name.replace('_', '-')}", type=field.type, metavar="N", help="a setting: see configs.py"
        )
    parser.set_defaults(run=run)


def run(given) -> bool:
    """Runs the command; returns False if it was interrupted."""
    for name in ("fresh", "initial_vocabulary"):
        if getattr(given, name) is not None and given.initial is None:
            raise ValueError(
                f"--{name.replace('_', '-')} is of --initial: without it all parameters begin with random weights"
            )
    changes = {} if given.initial is None else dict(LOG4 if given.log4 else CONTINUED)
    asked = {field.name: getattr(given, field.name) for field in dataclasses.fields(Settings)}
    changes |= {name: value for name, value in asked.items() if value is not None}
    settings = settings_of(given.shape, **changes)
    vocabulary = Vocabulary(given.vocabulary)
    config = model_config(given.shape, vocabulary.size)
    if given.initial is None:
        initial = initial_tensors(config, settings.seed)
    else:
        found, arrays = read_float_checkpoint(given.initial, rounded=True)
        try:
            if given.initial_vocabulary is not None:
                found, arrays = of_vocabulary(found, arrays, Vocabulary(given.initial_vocabulary), vocabulary)
            initial = grown(config, found, arrays, settings.seed)
        except ValueError as error:
            raise ValueError(f"{given.initial}: cannot begin a {given.shape}: {error}") from None
        if given.fresh is not None:
            initial |= _fresh(given.fresh, config, settings.seed)
    teacher = None if given.imitate is None else _teacher(given.imitate, config)
    data = data_of(given)
    print("\n".join(data.report), flush=True)
    examples = encode(data.train, vocabulary, vocabulary)
    validator = functools.partial(validate, corpora=data.development)
    lessons = Lessons(examples, given.vocabulary, validator)
    trainer = Trainer(given.out, network_of(config, initial), settings, lessons, given.device, given.log4, teacher)
    return trainer.run()


def _fresh(pattern, config, seed):
    """Returns initial values of the parameters whose names match."""
    tensors = initial_tensors(config, seed)
    found = {name: tensors[name] for name in fnmatch.filter(tensors, pattern)}
    if not found:
        raise ValueError(f"--fresh {pattern}: no parameter is called so; there are {', '.join(tensors)}")
    return found


def _teacher(path, config):
    """Returns the network to imitate."""
    found, arrays = read_float_checkpoint(path)
    if (found.vocab_size, found.source_size, found.eos_id) != (config.vocab_size, config.source_size, config.eos_id):
        raise ValueError(
            f"{path}: cannot be imitated: its vocabulary has {found.vocab_size} pieces, that of the model to train "
            f"{config.vocab_size}"
        )
    return network_of(found, torch_tensors(arrays))
