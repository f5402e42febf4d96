"""The model of the disk itself: what it may lose, and what not."""

import random
from pathlib import Path

from tests.faults.disk import Disk, Image
from tests.faults.operations import Kind, Operation

OLD, NEW = b"o" * 1024, b"n" * 1024


def disk_with(folder: Path, *operations: Operation) -> Disk:
    (folder / "old").write_bytes(OLD)
    disk = Disk(str(folder))
    for operation in operations:
        disk.apply(operation)
    return disk


def images(disk: Disk) -> list[Image]:
    rng = random.Random(1)  # noqa: S311 - a repeatable plan
    return [disk.image(rng) for _ in range(400)]


def write(file: int, offset: int, data: bytes) -> Operation:
    return Operation(Kind.WRITE, "", file, offset, data)


def contents(disk: Disk, path: str = "old") -> set[bytes | None]:
    return {image.files.get(path) for image in images(disk)}


def test_what_was_synced_is_in_every_image(tmp_path: Path) -> None:
    disk = disk_with(tmp_path, write(0, 0, NEW), Operation(Kind.SYNC, "old", 0))
    assert contents(disk) == {NEW}


def test_what_was_not_synced_is_dropped_torn_and_kept(tmp_path: Path) -> None:
    found = contents(disk_with(tmp_path, write(0, 0, NEW)))
    assert found == {OLD, NEW, NEW[:512] + OLD[512:], OLD[:512] + NEW[512:]}


def test_a_later_write_may_be_there_without_an_earlier_one(tmp_path: Path) -> None:
    found = contents(disk_with(tmp_path, write(0, 0, NEW[:512]), write(0, 512, NEW[512:])))
    assert OLD[:512] + NEW[512:] in found
    assert NEW[:512] + OLD[512:] in found


def test_a_file_may_be_longer_than_what_was_written_to_it(tmp_path: Path) -> None:
    found = contents(disk_with(tmp_path, write(0, 1024, NEW[:512])))
    assert found == {OLD, OLD + NEW[:512], OLD + bytes(512)}


def test_a_truncation_is_certain_after_a_sync_alone(tmp_path: Path) -> None:
    cut = Operation(Kind.TRUNCATE, "old", 0, 512)
    assert contents(disk_with(tmp_path, cut)) == {OLD, OLD[:512]}
    assert contents(disk_with(tmp_path, cut, Operation(Kind.SYNC, "old", 0))) == {OLD[:512]}


def test_a_new_name_is_certain_after_a_sync_of_its_folder_alone(tmp_path: Path) -> None:
    made = (Operation(Kind.CREATE, "new", 1), write(1, 0, NEW), Operation(Kind.SYNC, "new", 1))
    assert contents(disk_with(tmp_path, *made), "new") == {None, NEW}
    assert contents(disk_with(tmp_path, *made, Operation(Kind.SYNC_FOLDER, "")), "new") == {NEW}


def test_a_folder_that_is_not_synced_takes_its_files_with_it(tmp_path: Path) -> None:
    made = (
        Operation(Kind.MKDIR, "folder"),
        Operation(Kind.CREATE, "folder/new", 1),
        write(1, 0, NEW),
        Operation(Kind.SYNC, "folder/new", 1),
        Operation(Kind.SYNC_FOLDER, "folder"),
    )
    assert contents(disk_with(tmp_path, *made), "folder/new") == {None, NEW}
    assert contents(disk_with(tmp_path, *made, Operation(Kind.SYNC_FOLDER, "")), "folder/new") == {NEW}


def test_a_rename_happens_whole_or_not_at_all(tmp_path: Path) -> None:
    disk = disk_with(tmp_path, Operation(Kind.RENAME, "old", 0, target="new"))
    assert {(image.files.get("old"), image.files.get("new")) for image in images(disk)} == {(OLD, None), (None, OLD)}


def test_a_second_name_stays_when_the_first_is_removed(tmp_path: Path) -> None:
    disk = disk_with(
        tmp_path,
        Operation(Kind.LINK, "old", 0, target="new"),
        Operation(Kind.UNLINK, "old", 0),
        Operation(Kind.SYNC_FOLDER, ""),
    )
    assert all(image.files == {"new": OLD} for image in images(disk))
