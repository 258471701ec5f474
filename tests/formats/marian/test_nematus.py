"""Files of Nematus and of amun, under their own names, with Marian's options or without any."""

import numpy as np
import pytest

from cpunmt.formats.marian.marian import read_marian
from quantize.checkpoints.marian_export import write_marian_npz
from tests.golden.bergamot_recurrent import without_places
from tests.sample_models.marian_bin_writer import write_marian_bin
from tests.sample_models.random_models import random_tensors
from tests.sample_models.recurrents import make_config
from tests.support.refusal import refusal

ONE_WIDTH = {"encoder_dim": 48, "decoder_dim": 48, "attention_dim": None}
TO_NEMATUS = {
    "decoder_cell1_": "decoder_", "encoder_bi_r_": "encoder_r_", "encoder_bi_": "encoder_",
    "decoder_ff_logit_l2_": "ff_logit_", "decoder_ff_state_": "ff_state_", "encoder_Wemb": "Wemb",
    "decoder_Wemb": "Wemb_dec", "decoder_ff_logit_l1_gamma": "ff_logit_l1_gamma",
}  # fmt: skip


def nematus_name(name):
    """Returns the name in Marian's `src/models/amun.h` and `nematus.h`."""
    if name == "decoder_ff_logit_l2_Wt":  # newer than the map
        return name
    for i, part in enumerate(("prev", "lstm", "ctx")):
        for letter in ("W", "b", "ln_s", "ln_b"):
            if name == f"decoder_ff_logit_l1_{letter}{i}":
                return f"ff_logit_{part}_{letter}"
    for stack, short in (("encoder_bi_r", "encoder_r"), ("encoder_bi", "encoder")):
        if name.startswith(f"{stack}_cell2_"):
            matrix, _, norm = name.removeprefix(f"{stack}_cell2_").partition("_")
            return f"{short}_{matrix}_drt_1" + (f"_{norm}" if norm else "")
    if name.startswith("decoder_cell2_gamma") or name.startswith("decoder_cell1_gamma"):
        return name
    if name.startswith("decoder_cell2_"):
        matrix, _, norm = name.removeprefix("decoder_cell2_").partition("_")
        matrix = {"W": "Wc", "Wx": "Wcx"}.get(matrix, f"{matrix}_nl")
        return f"decoder_{matrix}" + (f"_{norm}" if norm else "")
    if name.startswith("decoder_cell3_"):
        matrix, _, norm = name.removeprefix("decoder_cell3_").partition("_")
        return f"decoder_{matrix}_nl_drt_1" + (f"_{norm}" if norm else "")
    for theirs, nematus in TO_NEMATUS.items():
        if name.startswith(theirs):
            return nematus + name.removeprefix(theirs)
    return name


NEMATUS = {
    "plain": {},
    "norms of amun": {"layer_norm": "marian"},
    "deep": {"encoder_transitions": 2, "decoder_transitions": 1},
    "deep, with norms": {
        "encoder_transitions": 2, "decoder_transitions": 1, "layer_norm": "nematus", "layer_norm_epsilon": 1e-5,
    },
}  # fmt: skip


@pytest.mark.parametrize("untied", [True, False])
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("name", NEMATUS)
def test_a_file_of_nematus_is_the_same_model(name, told, untied, tmp_path):
    """With Marian's options, or Nematus' own: with data of its training, and no options."""
    tables = {"shared_embedding": False, "shared_vocabulary": False, "source_vocab_size": 56} if untied else {}
    config = make_config(**ONE_WIDTH, **tables, tied_output=not untied, **NEMATUS[name])
    tensors = random_tensors(config, 4)
    without_places(config, tensors)
    write_marian_npz(tmp_path / "model.npz", config, tensors)
    arrays = dict(np.load(tmp_path / "model.npz"))
    options = arrays.pop("special:model.yml")
    renamed = {nematus_name(name): array for name, array in arrays.items()}
    assert len(renamed) == len(arrays) and sum(name in arrays for name in renamed) < 0.5 * len(arrays)
    if not untied:
        assert "Wemb" in renamed
    if "decoder_ff_logit_l2_Wt" in renamed:
        renamed["ff_logit_W"] = np.ascontiguousarray(renamed.pop("decoder_ff_logit_l2_Wt").T)
    renamed = {name: array[0] if len(array) == 1 else array for name, array in renamed.items()}
    training = {"uidx": np.array(7, np.int64), "history_errs": np.array([1.5]), "decoder_c_tt": np.float32(0)}
    np.savez(tmp_path / "nematus.npz", **renamed, **training, **({"special:model.yml": options} if told else {}))
    made, found, _ = read_marian(tmp_path / "nematus.npz")
    assert made == config
    assert all(np.array_equal(found[tensor], tensors[tensor]) for tensor in tensors)


def test_a_binary_file_of_amun_is_the_same_model(tmp_path):
    """Its mark is an array of [1, 0], which was refused."""
    config = make_config(**ONE_WIDTH, shared_embedding=False, shared_vocabulary=False, tied_output=False)
    tensors = random_tensors(config, 2)
    write_marian_npz(tmp_path / "model.npz", config, tensors)
    arrays = dict(np.load(tmp_path / "model.npz"))
    options = arrays.pop("special:model.yml").tobytes()[:-1].replace(b"type: s2s", b"type: amun")
    arrays = {nematus_name(name): array for name, array in arrays.items()}
    write_marian_bin(
        tmp_path / "model.bin", {**arrays, "decoder_c_tt": np.zeros((1, 0), np.float32)}, options, "float32"
    )
    made, found, _ = read_marian(tmp_path / "model.bin")
    assert made == config and all(np.array_equal(found[tensor], tensors[tensor]) for tensor in tensors)


def test_objects_of_nematus_training_are_not_looked_at(tmp_path):
    """`history_errs` may be pickled: nothing of it is read."""
    config = make_config(**ONE_WIDTH)
    write_marian_npz(tmp_path / "model.npz", config, random_tensors(config, 4))
    arrays = dict(np.load(tmp_path / "model.npz"))
    np.savez(tmp_path / "more.npz", **arrays, history_errs=np.array([{}], object), decoder_c_tt=np.zeros(()))
    assert read_marian(tmp_path / "more.npz").config == config


def test_two_arrays_of_one_parameter_are_refused(tmp_path):
    """The first was dropped."""
    config = make_config(**ONE_WIDTH)
    write_marian_npz(tmp_path / "model.npz", config, random_tensors(config, 4))
    arrays = dict(np.load(tmp_path / "model.npz"))
    more = {"encoder_U": arrays["encoder_bi_U"], "decoder_c_tt": np.zeros(1, np.float32)}
    np.savez(tmp_path / "more.npz", **arrays, **more)
    message = refusal(read_marian, tmp_path / "more.npz")
    assert "encoder_bi_U and encoder_U are the same parameter" in message


def test_a_file_without_options_that_is_not_of_nematus_is_refused(tmp_path):
    np.savez(tmp_path / "model.npz", Wemb=np.zeros((4, 4), np.float32), decoder_c_tt=np.zeros((), np.float32))
    message = refusal(read_marian, tmp_path / "model.npz")
    assert "no special:model.yml, and no matrix decoder_ff_state_W" in message
