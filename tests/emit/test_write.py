"""Files are written whole, beside nobody's work, and only when they change."""

import os
import stat
from pathlib import Path

import pytest

from tensorgen.emit import write

TEXT = write.HEADER + " 0.1.0\nx = 'é'\n"
OLDER = write.HEADER + " 0.0.9\n"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_and_its_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "f_numpy.py"
    assert write.write_files({path: TEXT}) == [path]
    assert path.read_bytes() == TEXT.encode()
    assert names(path.parent) == ["f_numpy.py"]


def test_an_equal_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    path.write_bytes(TEXT.encode())
    os.utime(path, (1, 1))
    assert write.write_files({path: TEXT}) == []
    assert path.stat().st_mtime == 1


def test_a_file_of_somebody_else_stays_and_so_do_all_others(tmp_path: Path) -> None:
    mine, ours = tmp_path / "mine.py", tmp_path / "ours.py"
    mine.write_text("x = 1\n", "utf-8")
    with pytest.raises(write.ForeignFileError, match=r"mine\.py exists"):
        write.write_files({ours: TEXT, mine: TEXT})
    assert names(tmp_path) == ["mine.py"]
    assert mine.read_text("utf-8") == "x = 1\n"


def test_a_file_of_somebody_else_is_overwritten_by_force(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_bytes(b"\xff\n")
    assert write.write_files({path: TEXT}, force=True) == [path]
    assert path.read_bytes() == TEXT.encode()


def test_an_older_file_of_ours_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    path.write_text(OLDER, "utf-8")
    path.chmod(0o640)
    write.write_files({path: TEXT})
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.read_bytes() == TEXT.encode()


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    other, path = tmp_path / "other", tmp_path / "f.py"
    other.write_text("", "utf-8")
    write.write_files({path: TEXT})
    assert path.stat().st_mode == other.stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target.py", tmp_path / "link.py"
    target.write_text(OLDER, "utf-8")
    link.symlink_to(target)
    write.write_files({link: TEXT})
    assert link.is_symlink()
    assert target.read_bytes() == TEXT.encode()


def test_nothing_is_left_behind_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "a.py", tmp_path / "b.py"
    first.write_text(OLDER, "utf-8")
    calls = []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write.write_files({first: TEXT, second: TEXT})
    assert names(tmp_path) == ["a.py"]
    assert first.read_text("utf-8") == OLDER


def test_a_folder_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "f.py").mkdir()
    with pytest.raises(OSError, match=r"f\.py"):
        write.write_files({tmp_path / "f.py": TEXT})


def test_stale_files_are_the_missing_and_the_different(tmp_path: Path) -> None:
    same, other, none = (tmp_path / name for name in ("same", "other", "none"))
    same.write_bytes(TEXT.encode())
    other.write_bytes(TEXT.encode() + b"\n")
    assert write.stale_files(dict.fromkeys((same, other, none), TEXT)) == [other, none]


def test_a_diff_goes_from_the_file_to_the_new_text(tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    assert write.diff(path, "a\n").splitlines()[:2] == ["--- /dev/null", f"+++ {path}"]
    path.write_text("a\nb", "utf-8")
    assert write.diff(path, "a\nc\n").splitlines()[2:] == [
        "@@ -1,2 +1,2 @@",
        " a",
        "-b",
        "+c",
    ]
    assert write.diff(path, "a\nb") == ""
