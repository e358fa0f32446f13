"""What a preview of a prompt is to show: which conversation, which scale, and for which endpoint."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as __
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from apps.frameworks.models import Dimension
from apps.llm.models import Endpoint
from apps.llm.services.example_choice import items_with_text
from apps.llm.templates import Use
from apps.studies.models import Item, Study

MOST_ITEMS = 200
LONGEST_LABEL = 90
LONGEST_FIND = 100


class PreviewForm(forms.Form):
    """Its fields stand beside those of a prompt, so that each is named with a prefix."""

    prefix = "preview"

    find = forms.CharField(
        label=_("Find"),
        required=False,
        max_length=LONGEST_FIND,
        help_text=_("Part of the id or title."),
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off", "spellcheck": "false"}),
    )
    item = forms.ModelChoiceField(label=_("Conversation"), queryset=Item.objects.none(), empty_label=None)
    scale = forms.ChoiceField(label=_("Scale"))
    endpoint = forms.ModelChoiceField(
        label=_("Endpoint"),
        queryset=Endpoint.objects.none(),
        required=False,
        empty_label=_("none"),
    )

    def __init__(
        self,
        data: Mapping[str, Any] | None,
        *,
        study: Study,
        use: Use,
        dimensions: Sequence[Dimension],
        is_inside: bool = False,
    ) -> None:
        """is_inside: its fields stand in the form of a prompt, which the Enter key would save."""
        super().__init__(data)
        if is_inside:
            # Without JavaScript it takes another line, at least.
            attributes = {"rows": 1, "spellcheck": "false", "data-enter-presses": "preview-button"}
            self.fields["find"].widget = forms.Textarea(attrs=attributes)
        self._offer_items(items_with_text(study))
        endpoint_field = self.fields["endpoint"]
        endpoint_field.queryset = Endpoint.objects.in_use()  # type: ignore[attr-defined]
        endpoint_field.initial = Endpoint.objects.in_use().first()
        scale_field = self.fields["scale"]
        scale_field.choices = _scales(use, dimensions)  # type: ignore[attr-defined]
        if use is Use.FRAMEWORK:
            scale_field.label = __("Framework")

    def _offer_items(self, items: QuerySet[Item]) -> None:
        """All of the study's, or the first of them and a field to find the others by. Two queries at most."""
        rows = _listed(items)
        self.has_items = bool(rows)
        self.found: list[int] | None = None
        field = self.fields["item"]
        if len(rows) <= MOST_ITEMS:
            del self.fields["find"]
        else:
            field.help_text = __("The first %(n)d of the study.") % {"n": MOST_ITEMS}
            if wanted := self._wanted():
                rows = _listed(items.filter(_says(wanted)))
                self.found = [pk for pk, *_rest in rows]
                field.help_text = _n_found(len(rows))
                # One that was chosen before is not asked for any more where it is not among them.
                field.required = False
        field.queryset = items.select_related("conversation")  # type: ignore[attr-defined]
        field.choices = [  # type: ignore[attr-defined]
            (pk, f"{external_id} {title}".strip()[:LONGEST_LABEL] + f" ({block})")
            for pk, block, external_id, title in rows[:MOST_ITEMS]
        ]

    def _wanted(self) -> str:
        """What is looked for; "" where nothing is, or what cannot be."""
        wanted = " ".join(str(self.data.get(self.add_prefix("find"), "")).split())
        return "" if "\0" in wanted or len(wanted) > LONGEST_FIND else wanted

    def clean(self) -> dict[str, Any]:
        """The first that was found, where none of those is chosen."""
        cleaned = super().clean() or self.cleaned_data
        if self.found is None or "item" not in cleaned:
            return cleaned
        chosen = cleaned["item"]
        if not self.found:
            self.add_error("find", __("No conversation has this in its id or title."))
        elif chosen is None or chosen.pk not in self.found:
            cleaned["item"] = self.fields["item"].queryset.get(pk=self.found[0])  # type: ignore[attr-defined]
        return cleaned

    @property
    def framework_and_dimension(self) -> tuple[int, int | None]:
        """What is chosen, of a form that is valid; without a dimension the whole framework."""
        framework, _slash, dimension = str(self.cleaned_data["scale"]).partition("/")
        return int(framework), int(dimension) if dimension else None


def _listed(items: QuerySet[Item]) -> list[Any]:
    """pk, block, id and title of as many as are offered, and of one more."""
    rows = items.values_list("pk", "block__slug", "conversation__external_id", "conversation__title")
    return list(rows[: MOST_ITEMS + 1])


def _says(wanted: str) -> Q:
    return Q(conversation__external_id__icontains=wanted) | Q(conversation__title__icontains=wanted)


def _n_found(n: int) -> str:
    if n > MOST_ITEMS:
        return __("The first %(n)d that were found.") % {"n": MOST_ITEMS}
    return ngettext("%(n)d was found.", "%(n)d were found.", n) % {"n": n}


def _scales(use: Use, dimensions: Sequence[Dimension]) -> list[Any]:
    if use is Use.FRAMEWORK:
        return list({(str(one.framework_id), one.framework.name): None for one in dimensions})
    groups: dict[tuple[int, str], list[tuple[str, str]]] = {}
    for one in dimensions:
        scales = groups.setdefault((one.framework_id, one.framework.name), [])
        scales.append((f"{one.framework_id}/{one.pk}", one.label))
    return [(name, scales) for (_framework, name), scales in groups.items()]
