"""Where an action works: the folder whose files are judged, what it reads from, and its temporary files."""

import os
import shutil
from pathlib import Path

from msgspec import Struct

LEDGER = "ledger.db"


class Place(Struct, frozen=True):
    """The folders of one run."""

    base: str
    disk: str  # what the product writes: the ledger, backups, agents' files
    seed: int = 0  # of ids and salts

    @classmethod
    def below(cls, base: Path, seed: int = 0) -> "Place":
        """The folders below one."""
        return cls(str(base), str(base / "disk"), seed)

    @property
    def url(self) -> str:
        """The ledger's."""
        return f"sqlite:///{self.disk}/{LEDGER}"

    @property
    def ledger(self) -> Path:
        """The ledger's file."""
        return Path(self.disk, LEDGER)

    @property
    def sources(self) -> Path:
        """Agents' files, to be captured."""
        return Path(self.base, "sources")

    @property
    def temporary(self) -> Path:
        """The product's temporary files."""
        return Path(self.base, "tmp")

    def with_disk(self, disk: Path) -> "Place":
        """The same with another disk: an image of it."""
        return Place(self.base, str(disk), self.seed)

    def clear(self) -> None:
        """New, empty folders."""
        for folder in (Path(self.disk), self.sources, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)

    def fill(self, template: "Place") -> None:
        """A copy of what an action begins with."""
        self.clear()
        for source, target in ((template.disk, self.disk), (str(template.sources), str(self.sources))):
            shutil.copytree(source, target, dirs_exist_ok=True)

    def files(self) -> list[Path]:
        """What is on the disk beside the ledger: no folders."""
        found = [Path(folder, name) for folder, _, names in os.walk(self.disk) for name in names]
        return sorted(path for path in found if not path.name.startswith(LEDGER))
