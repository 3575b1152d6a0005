"""The protocol is documented, stays compatible, and its generated code is the one of its sources."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaodipi.engine.actions import ActionKind
from chaodipi.engine.cards import Card, Seat, Side, Suit
from chaodipi.v1 import cards_pb2
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from tests.support.generators import generator

ROOT = Path(__file__).resolve().parents[2]
PROTO = ROOT / "proto"
BASELINE = PROTO / "baseline.binpb"
BUF = Path(sys.executable).parent / "buf"
BROKEN = 100
"""Exit code of buf for findings; anything else that is not 0 is a failure of buf itself."""
BUNDLED = {"google/protobuf/duration.proto", "google/protobuf/timestamp.proto"}

# Field numbers of descriptor.proto, of which the paths of source comments are made.
MESSAGES, FIELDS, NESTED = 4, 2, 3


def buf(*arguments: str | Path, cwd: Path = PROTO) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BUF, *arguments], cwd=cwd, capture_output=True, text=True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the protocol to break."""
    shutil.copytree(PROTO / "chaodipi", tmp_path / "chaodipi")
    shutil.copy(PROTO / "buf.yaml", tmp_path)
    return tmp_path


def edit(copy: Path, name: str, old: str, new: str) -> None:
    path = copy / "chaodipi" / "v1" / name
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[FileDescriptorProto]:
    """The descriptors of our own files, comments included."""
    image = tmp_path_factory.mktemp("image") / "image.binpb"
    built = buf("build", "-o", image)
    assert built.returncode == 0, built.stderr
    every = FileDescriptorSet.FromString(image.read_bytes()).file
    return [file for file in every if file.name.startswith("chaodipi/")]


def fields_of(
    messages: list[DescriptorProto], path: tuple[int, ...], scope: str
) -> Iterator[tuple[str, tuple[int, ...], FieldDescriptorProto]]:
    """Each field below *path*: its full name, its path in the file, its descriptor. Entries of maps are left out."""
    for i, message in enumerate(messages):
        if message.options.map_entry:
            continue
        name = f"{scope}.{message.name}"
        for j, field in enumerate(message.field):
            yield f"{name}.{field.name}", (*path, i, FIELDS, j), field
        yield from fields_of(list(message.nested_type), (*path, i, NESTED), name)


def test_lint_passes() -> None:
    """The protocol is clean by buf's STANDARD rules and its own, and formatted."""
    for arguments in (["lint"], ["format", "--diff", "--exit-code"]):
        done = buf(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_breaks_the_baseline() -> None:
    """No client of the last release has to change."""
    done = buf("breaking", "--against", BASELINE)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("uint32 as_of_seq = 4;", "uint32 as_of_sequence = 4;", "as_of_seq"),
        ("uint32 card_count = 7;", "uint32 card_count = 17;", "card_count"),
        ("uint32 attempt = 8;", "string attempt = 8;", "attempt"),
    ],
    ids=["renamed", "renumbered", "retyped"],
)
def test_a_changed_field_breaks_the_baseline(copy: Path, old: str, new: str, finding: str) -> None:
    """A field that is renamed, renumbered or retyped is found and named."""
    edit(copy, "seat.proto", old, new)
    done = buf("breaking", "--against", BASELINE, cwd=copy)
    assert done.returncode == BROKEN
    assert finding in done.stdout


def test_a_new_field_does_not_break_the_baseline(copy: Path) -> None:
    """The protocol may grow."""
    edit(copy, "seat.proto", "uint32 attempt = 8;", "uint32 attempt = 8;\n  // New, 0 or more.\n  uint32 new = 100;")
    assert buf("breaking", "--against", BASELINE, cwd=copy).returncode == 0
    assert buf("lint", cwd=copy).returncode == 0


def test_a_field_without_comment_fails_lint(copy: Path) -> None:
    """A field that nobody explained is not merged."""
    edit(copy, "seat.proto", "uint32 attempt = 8;", "uint32 attempt = 8;\n\n  uint32 new = 100;")
    done = buf("lint", cwd=copy)
    assert done.returncode == BROKEN
    assert '"new"' in done.stdout


def test_every_field_has_a_comment(files: list[FileDescriptorProto]) -> None:
    """Each field says what it is, and is no number, flag or list without a word on its values."""
    assert len(files) == len(list((PROTO / "chaodipi" / "v1").glob("*.proto")))
    count = 0
    for file in files:
        comments = {tuple(place.path): place.leading_comments.strip() for place in file.source_code_info.location}
        for name, path, field in fields_of(list(file.message_type), (MESSAGES,), file.package):
            count += 1
            comment = comments.get(path, "")
            assert comment.endswith((".", ")")), f"{name}: no comment, or not a sentence: {comment!r}"
            if field.type == FieldDescriptorProto.TYPE_BOOL and field.name != "legal":
                assert "True:" in comment, f"{name}: say what true means"
            if field.name.endswith("_ms"):
                assert "millisecond" in comment.lower(), f"{name}: say the unit"
    assert count > 300


def test_only_what_every_compiler_bundles_is_imported(files: list[FileDescriptorProto]) -> None:
    """One folder is all that a client in another language copies; nothing is typed Any."""
    names = {file.name for file in files}
    for file in files:
        assert set(file.dependency) <= names | BUNDLED
        assert file.options.go_package
        assert file.options.java_package
        assert file.options.java_outer_classname.endswith("Proto")


def test_numbers_are_the_engine_s() -> None:
    """Cards, suits and action kinds travel as the engine's own numbers; seats and sides one higher."""
    assert {f"CARD_{card.name}": int(card) for card in Card} | {"CARD_UNSPECIFIED": 0} == dict(cards_pb2.Card.items())
    assert {f"SUIT_{suit.name}": int(suit) for suit in Suit} | {"SUIT_UNSPECIFIED": 0} == dict(cards_pb2.Suit.items())
    for kind in ActionKind:
        assert cards_pb2.ActionKind.Value(f"ACTION_KIND_{kind.name}") == int(kind)
    for seat in Seat:
        assert cards_pb2.Seat.Value(f"SEAT_{int(seat)}") == seat + 1
    for side in Side:
        assert cards_pb2.Side.Value(side.name) == side + 1


def test_generated_code_is_current(tmp_path: Path) -> None:
    """The committed Python code is what the pinned generators make of the committed protos."""
    generator().generate(tmp_path)
    fresh, committed = (
        {path.name: path.read_bytes() for path in (folder / "chaodipi" / "v1").iterdir() if path.is_file()}
        for folder in (tmp_path, PROTO / "gen")
    )
    assert sorted(committed) == sorted(fresh), "run `make protos`"
    for name, content in fresh.items():
        assert committed[name] == content, f"{name} is not current: run `make protos`"


def test_the_namespace_stays_open() -> None:
    """No ``__init__.py`` directly under ``chaodipi``: it would hide the other distributions."""
    assert not (PROTO / "gen" / "chaodipi" / "__init__.py").exists()
    assert (PROTO / "gen" / "chaodipi" / "v1" / "py.typed").exists()
