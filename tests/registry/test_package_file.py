""".argosmodel files: unpacked once, and refused in one line if they are damaged or hostile."""

import io
import stat
import warnings
import zipfile

import pytest

from cpunmt import ModelFileError, Translator, contains_model
from cpunmt.errors import CpunmtError
from cpunmt.registry import archive, store
from tests.golden.argos import SENTENCES, write_package
from tests.registry.shapes import argos_files, zipped
from tests.registry.test_argos import archive_of
from tests.support.speeds import slow_after


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "translate-en_de-1_9.argosmodel"
    path.write_bytes(archive_of(write_package(tmp_path / "translate-en_de-1_9")))
    return path


def unpacked_folders(tmp_path) -> list:
    folder = tmp_path / "models" / "files"
    return list(folder.iterdir()) if folder.exists() else []


def test_a_file_is_unpacked_once(file, tmp_path):
    assert contains_model(file) and contains_model(str(file))
    translator, text = Translator(file), SENTENCES[0]
    expected = Translator(tmp_path / "translate-en_de-1_9").translate(text, options="argos").text
    assert translator.translate(text, options="argos").text == expected
    (folder,) = unpacked_folders(tmp_path)
    made = folder.stat().st_ino
    again = file.rename(tmp_path / "translate-en_de-1_9 (1).ArgosModel")
    assert Translator(again).translate(text, options="argos").text == expected
    assert len(unpacked_folders(tmp_path)) == 2  # the name is part of the folder's
    again.rename(file)
    assert Translator(str(file)).path == folder and folder.stat().st_ino == made


def test_another_content_is_another_model(file, tmp_path):
    one = store.located(file)
    file.write_bytes(archive_of(write_package(tmp_path / "other", "with unknowns", from_code="fr")))
    other = store.located(file)
    assert one != other and Translator(file).languages == ("fr", "de")


def test_archives_of_stored_files(file, tmp_path):
    stored = io.BytesIO()
    with zipfile.ZipFile(file) as opened, zipfile.ZipFile(stored, "w") as packed:
        packed.mkdir("translate-en_de-1_9") if hasattr(packed, "mkdir") else None
        for name in opened.namelist():
            packed.writestr(name, opened.read(name))
    file.write_bytes(stored.getvalue())
    assert Translator(file).languages == ("en", "de")


def raw(*members) -> bytes:
    """Returns an archive of (name, content, mode) in this order, whatever the name."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content, mode in members:
            info = zipfile.ZipInfo("x")
            info.filename, info.external_attr = name, mode << 16  # its constructor would have changed some names
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # for a name that is there twice
                opened.writestr(info, content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def with_member(name, content=b"1", mode=stat.S_IFREG | 0o644) -> bytes:
    """Returns an archive of a package with one more member."""
    return raw(*[(good, data, stat.S_IFREG | 0o644) for good, data in argos_files().items()], (name, content, mode))


ROOT = "translate-en_de-1_0"
LEAVING = ("../evil", "/evil", f"{ROOT}/../../evil", f"{ROOT}/model/../../evil", f"{ROOT}//evil", f"{ROOT}\\..\\evil")
LEAVING += ("C:/evil", f"{ROOT}/./evil", "..", f"{ROOT}/stanza/../../../evil")
HOSTILE = [
    *((with_member(name), "is refused: it would leave the package's folder; nothing was unpacked") for name in LEAVING),
    (with_member(f"{ROOT}/model/link", b"/etc/passwd", stat.S_IFLNK | 0o777), "link' is a link, expected files only"),
    (with_member(f"{ROOT}/model", b"/etc", stat.S_IFLNK | 0o777), "model' is a link, expected files only"),
    (with_member(f"{ROOT}/model/model.bin"), "the archive has the file 'model/model.bin' twice"),
    (with_member(f"{ROOT}/MODEL.bin"), None),
    (with_member(f"{ROOT}/Metadata.json"), "file name 'Metadata.json' is refused"),
    (with_member(f"{ROOT}/README.MD"), "the archive has the file 'README.MD' twice"),
    (with_member(f"{ROOT}/model/nul"), "file name 'nul' is refused"),
    (with_member("other/metadata.json"), f"holds the folders 'other', '{ROOT}', expected one"),
    (with_member("metadata.json"), "the file 'metadata.json' is in no folder"),
    (zipped({}), "holds the folders none, expected one"),
    (zipped({"a/x": b""}), "metadata.json is missing"),
    (
        zipped({name: data for name, data in argos_files().items() if "metadata" not in name}),
        "metadata.json is missing",
    ),
    (zipped({name: data for name, data in argos_files().items() if "/model/" not in name}), "the folder model is miss"),
    (
        zipped({name: data for name, data in argos_files().items() if "piece" not in name}),
        "sentencepiece.model is miss",
    ),
    (with_member(f"{ROOT}/model/zeros.bin", bytes(50 << 20)), "the archive unpacks to 524.* bytes, expected at most"),
    (with_member(f"{ROOT}/stanza/zeros.bin", bytes(50 << 20)), "the archive unpacks to 524.* bytes, expected at most"),
    (zipped({f"{ROOT}/f{number}": b"" for number in range(1001)}), "1001 files in the archive, expected at most 1000"),
    (b"", "no zip archive"),
    (zipped(argos_files())[:-30], "no zip archive, or one that was cut off"),
    (b"PK\3\4" + bytes(100), "no zip archive"),
]


@pytest.mark.parametrize(("content", "expected"), slow_after(8, HOSTILE))
def test_hostile_archives(content, expected, tmp_path):
    path = tmp_path / "x.argosmodel"
    path.write_bytes(content)
    if expected is None:  # harmless: another file
        store.located(path)
        return
    with pytest.raises(ModelFileError, match=f"^{path}[^\n]*{expected}[^\n]*$"):
        Translator(path)
    assert unpacked_folders(tmp_path) == []
    assert {one.name for one in tmp_path.iterdir()} <= {"models", "x.argosmodel"}
    assert not tmp_path.parent.joinpath("evil").exists()


def test_a_damaged_member(file, tmp_path):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)
    with pytest.raises(ModelFileError, match="damaged one"):
        Translator(file)
    assert unpacked_folders(tmp_path) == []


def test_no_room(file, tmp_path, monkeypatch):
    monkeypatch.setattr(archive.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 10}))
    with pytest.raises(CpunmtError, match="unpacking needs .* which has 10; make room"):
        Translator(file)
    assert unpacked_folders(tmp_path) == []


def test_a_folder_that_cannot_be_made(file, tmp_path, monkeypatch):
    (tmp_path / "models").write_text("a file")
    with pytest.raises(CpunmtError, match=r"needed to unpack .*set CPUNMT_MODELS_DIR, or unpack it yourself"):
        Translator(file)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ModelFileError, match="no such directory"):
        Translator(tmp_path / "none.argosmodel")
    assert not contains_model(tmp_path / "none.argosmodel")
