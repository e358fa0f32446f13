"""What people type to lay out a block: what is rated, on which scales, and by whom."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from apps.corpus.models import Dataset
from apps.frameworks.models import Framework
from apps.studies.forms.setup import SlugField, slug_for
from apps.studies.models import Block, BlockGroup, RaterKind, Study
from apps.studies.selection import Trait
from apps.studies.services.people import KINDS_OF_PEOPLE

MOST_RATERS = 10_000
MOST_ITEMS = 10_000_000

NOBODY, EVERY, EXACTLY = "nobody", "every", "exactly"
WHO = [
    (NOBODY, _("do not rate here")),
    (EVERY, _("each rates every item")),
    (EXACTLY, _("share the items")),
]


class FrameworkRow(NamedTuple):
    framework: Framework
    use: forms.BoundField
    place: forms.BoundField


class GroupRow(NamedTuple):
    kind: RaterKind
    who: forms.BoundField
    overlap: forms.BoundField


class GroupsForm(forms.Form):
    """A block's title and who rates in it: what may still change when rating has begun."""

    title = forms.CharField(label=_("Title"), max_length=200, help_text=_("For example: Letters from the ward."))

    def __init__(self, *args: Any, groups: Mapping[str, int | None], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kinds = [kind for kind in RaterKind if kind in KINDS_OF_PEOPLE or kind in groups]
        for kind in self.kinds:
            has_overlap = groups.get(kind) is not None
            who = EXACTLY if has_overlap else EVERY if kind in groups else NOBODY
            self.fields[f"who-{kind}"] = forms.ChoiceField(
                label=kind.label,
                choices=WHO,
                initial=who,
                widget=forms.Select(attrs={"data-number": f"id_overlap-{kind}", "data-with-number": EXACTLY}),
            )
            self.fields[f"overlap-{kind}"] = forms.IntegerField(
                label=_("Raters for each item: %(kind)s") % {"kind": kind.label},
                required=False,
                min_value=1,
                max_value=MOST_RATERS,
                initial=groups.get(kind),
            )

    @property
    def group_rows(self) -> list[GroupRow]:
        return [GroupRow(kind, self[f"who-{kind}"], self[f"overlap-{kind}"]) for kind in self.kinds]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        groups: dict[str, int | None] = {}
        for kind in self.kinds:
            who, overlap = cleaned.get(f"who-{kind}"), cleaned.get(f"overlap-{kind}")
            if who == EXACTLY and overlap is None and f"overlap-{kind}" not in self.errors:
                self.add_error(f"overlap-{kind}", _("Say how many raters each item is to have."))
            if who in (NOBODY, EVERY) and overlap is not None:
                self.add_error(f"who-{kind}", _("A number is for raters who share the items: choose that or clear it."))
            if who in (EVERY, EXACTLY):
                groups[kind.value] = overlap if who == EXACTLY else None
        cleaned["groups"] = groups
        return cleaned


class BlockForm(GroupsForm):
    """A block of a draft. `traits`: what conversations of the dataset can be chosen by."""

    slug = SlugField(
        help_text=_(
            "For commands, files and results: letters, digits and hyphens. Left empty, it is made from the title."
        ),
    )
    take = forms.ChoiceField(
        label=_("How many"),
        choices=[("all", _("Every conversation that fits")), ("sample", _("A sample of them"))],
        initial="all",
        widget=forms.RadioSelect(attrs={"data-number": "id_sample_size", "data-with-number": "sample"}),
    )
    sample_size = forms.IntegerField(
        label=_("Size of the sample"),
        required=False,
        min_value=1,
        max_value=MOST_ITEMS,
        help_text=_("Drawn by the study's seed: whoever draws again gets the same conversations."),
    )

    def __init__(
        self,
        *args: Any,
        study: Study,
        dataset: Dataset,
        frameworks: Sequence[Framework],
        traits: Sequence[Trait],
        block: Block | None = None,
        **kwargs: Any,
    ) -> None:
        groups = {RaterKind.EXPERT.value: None} if block is None else _groups_of(block)
        super().__init__(*args, groups=groups, initial=_initial(dataset, block), **kwargs)
        chosen = {} if block is None else block.metadata_filter
        known = {trait.name for trait in traits}
        self.study, self.block, self.frameworks = study, block, frameworks
        # What was chosen by and is in the dataset no more is shown, not dropped in silence.
        self.traits = [*traits, *(Trait(name) for name in chosen if name not in known)]
        self._add_frameworks([] if block is None else [row.framework_id for row in block.block_frameworks.all()])
        self._add_traits(chosen)

    def _add_frameworks(self, chosen: list[int]) -> None:
        places = chosen + [one.pk for one in self.frameworks if one.pk not in chosen]
        for framework in self.frameworks:
            is_chosen = framework.pk in chosen
            self.fields[f"framework-{framework.pk}"] = forms.BooleanField(
                label=str(framework), required=False, initial=is_chosen
            )
            self.fields[f"place-{framework.pk}"] = forms.IntegerField(
                label=_("Place of %(framework)s") % {"framework": framework.name},
                required=False,
                min_value=1,
                max_value=999,
                initial=places.index(framework.pk) + 1,
            )

    def _add_traits(self, chosen: Mapping[str, Sequence[str]]) -> None:
        for trait in self.traits:
            values = dict(trait.values) | {value: trait.counts[value] for value in chosen.get(trait.name, ())}
            if not values:
                continue
            self.fields[field_of(trait)] = forms.MultipleChoiceField(
                label=trait.label,
                required=False,
                choices=[(value, _value_label(value, n)) for value, n in values.items()],
                initial=list(chosen.get(trait.name, ())),
                widget=forms.CheckboxSelectMultiple,
            )

    @property
    def framework_rows(self) -> list[FrameworkRow]:
        """In the order in which they stand on the rating screen, those not used after them."""
        rows = [FrameworkRow(one, self[f"framework-{one.pk}"], self[f"place-{one.pk}"]) for one in self.frameworks]
        return sorted(rows, key=lambda row: (not row.use.value(), _number(row.place.value())))

    @property
    def trait_fields(self) -> list[forms.BoundField]:
        return [self[field_of(trait)] for trait in self.traits if field_of(trait) in self.fields]

    @property
    def unlisted_traits(self) -> list[str]:
        return [trait.label for trait in self.traits if field_of(trait) not in self.fields]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        self._clean_slug_of_block(cleaned)
        places = {one: cleaned.get(f"place-{one.pk}") or 999 for one in self.frameworks}
        used = [one for one in self.frameworks if cleaned.get(f"framework-{one.pk}")]
        cleaned["frameworks"] = sorted(used, key=lambda one: places[one])
        if not used:
            self.add_error(None, _("Choose at least one framework."))
        if cleaned.get("take") == "all" and cleaned.get("sample_size") is not None:
            self.add_error("take", _("A size is for a sample: choose that, or clear the size."))
        if cleaned.get("take") == "sample" and cleaned.get("sample_size") is None and "sample_size" not in self.errors:
            self.add_error("sample_size", _("Say how many conversations to draw."))
        cleaned["metadata_filter"] = {
            trait.name: values for trait in self.traits if (values := cleaned.get(field_of(trait)))
        }
        return cleaned

    def _clean_slug_of_block(self, cleaned: dict[str, Any]) -> None:
        if "title" not in cleaned or "slug" in self.errors:
            return
        try:
            slug = slug_for(self)
        except ValidationError as problem:
            self.add_error("slug", problem)
            return
        others = self.study.blocks.filter(slug=slug)
        if self.block is not None:
            others = others.exclude(pk=self.block.pk)
        if others.exists():
            self.add_error("slug", _("Another block of the study is called %(slug)s already.") % {"slug": slug})
        cleaned["slug"] = slug

    def plan(self) -> dict[str, Any]:
        """What `services.design` is to lay out, of a form that is valid."""
        names = ("title", "slug", "frameworks", "groups", "sample_size", "metadata_filter")
        return {name: self.cleaned_data[name] for name in names}


def field_of(trait: Trait) -> str:
    """A field's name that no text in a file can break, and that stays when the dataset changes."""
    return f"only-{hashlib.sha256(trait.name.encode()).hexdigest()[:12]}"


def _groups_of(block: Block) -> dict[str, int | None]:
    groups: list[BlockGroup] = list(block.groups.all())
    return {group.kind: group.overlap for group in groups}


def _initial(dataset: Dataset, block: Block | None) -> dict[str, Any]:
    if block is None:
        return {"title": dataset.name}
    return {
        "title": block.title,
        "slug": block.slug,
        "take": "all" if block.sample_size is None else "sample",
        "sample_size": block.sample_size,
    }


def _value_label(value: str, n: int) -> str:
    return _("%(value)s (%(n)d)") % {"value": value, "n": n} if value else _("no value (%(n)d)") % {"n": n}


def _number(value: Any) -> int:
    return int(value) if str(value).isdecimal() and len(str(value)) < 4 else 999
