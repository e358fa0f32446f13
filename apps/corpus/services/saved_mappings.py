"""Column mappings kept under a name, for the next file of the same make."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db import transaction

from apps.accounts.models import User
from apps.corpus.models import ConversationUpload, SavedMapping
from apps.corpus.parsing.mapping import ColumnMapping, mapping_from_json
from apps.corpus.parsing.rows import open_table
from apps.corpus.services.uploads import opened_source, settle_mapping

MAX_KEPT = 50


class TooManyMappingsError(Exception):
    """A person keeps as many mappings as can be kept."""


@dataclass(frozen=True)
class OfferedMapping:
    """A kept mapping beside a file: `missing` are the columns it names that the file has not."""

    saved: SavedMapping
    missing: list[str]

    @property
    def fits(self) -> bool:
        return not self.missing


def keep_mapping(*, owner: User, name: str, mapping: ColumnMapping) -> SavedMapping:
    """Keep a mapping under a name, in place of one of that name. Raises TooManyMappingsError beyond 50."""
    with transaction.atomic():
        # Held until the end, so that two at once do not pass the bound together.
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)
        others = SavedMapping.objects.filter(owner=owner).exclude(name=name)
        if others.count() >= MAX_KEPT:
            raise TooManyMappingsError
        saved, _ = SavedMapping.objects.update_or_create(
            owner=owner, name=name, defaults={"mapping": mapping.as_json()}
        )
        return saved


def offered_mappings(*, owner: User, headers: Sequence[str]) -> list[OfferedMapping]:
    """What a person has kept, those first whose columns all stand in a file of these headers."""
    offered = []
    for saved in SavedMapping.objects.filter(owner=owner)[:MAX_KEPT]:
        wanted = mapping_from_json(saved.mapping).mapped().values()
        offered.append(OfferedMapping(saved, [column for column in dict.fromkeys(wanted) if column not in headers]))
    return sorted(offered, key=lambda one: not one.fits)


def use_mapping(*, saved: SavedMapping, upload: ConversationUpload) -> None:
    """Give an upload the mapping that is kept. Raises UploadClosedError, FileError where the file cannot be read."""
    with opened_source(upload) as file:
        headers = open_table(file, format=upload.format or None, encoding=upload.encoding or None).columns
    mapping = mapping_from_json(saved.mapping)
    columns = {name: column if column in headers else "" for name, column in mapping.columns.items()}
    settle_mapping(upload=upload, mapping=replace(mapping, columns=columns), skip_problem_rows=upload.skip_problem_rows)
