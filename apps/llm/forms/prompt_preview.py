"""What a preview of a prompt is to show: which conversation, which scale, and for which endpoint."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext as __
from django.utils.translation import gettext_lazy as _

from apps.frameworks.models import Dimension
from apps.llm.models import Endpoint
from apps.llm.services.example_choice import items_with_text
from apps.llm.templates import Use
from apps.studies.models import Item, Study

MOST_ITEMS = 200
LONGEST_LABEL = 90


class PreviewForm(forms.Form):
    """Its fields stand beside those of a prompt, so that each is named with a prefix."""

    prefix = "preview"

    item = forms.ModelChoiceField(label=_("Conversation"), queryset=Item.objects.none(), empty_label=None)
    scale = forms.ChoiceField(label=_("Scale"))
    endpoint = forms.ModelChoiceField(
        label=_("Endpoint"),
        queryset=Endpoint.objects.none(),
        required=False,
        empty_label=_("none"),
    )

    def __init__(
        self, data: Mapping[str, Any] | None, *, study: Study, use: Use, dimensions: Sequence[Dimension]
    ) -> None:
        super().__init__(data)
        items = items_with_text(study)
        shown = list(
            items.values_list("pk", "block__slug", "conversation__external_id", "conversation__title")[: MOST_ITEMS + 1]
        )
        self.is_cut = len(shown) > MOST_ITEMS
        self.has_items = bool(shown)
        item_field, endpoint_field = self.fields["item"], self.fields["endpoint"]
        item_field.queryset = items.select_related("conversation")  # type: ignore[attr-defined]
        item_field.choices = [  # type: ignore[attr-defined]
            (pk, f"{external_id} {title}".strip()[:LONGEST_LABEL] + f" ({block})")
            for pk, block, external_id, title in shown[:MOST_ITEMS]
        ]
        endpoint_field.queryset = Endpoint.objects.in_use()  # type: ignore[attr-defined]
        endpoint_field.initial = Endpoint.objects.in_use().first()
        scale_field = self.fields["scale"]
        scale_field.choices = _scales(use, dimensions)  # type: ignore[attr-defined]
        if use is Use.FRAMEWORK:
            scale_field.label = __("Framework")
        if self.is_cut:
            item_field.help_text = __("The first %(n)d conversations of the study.") % {"n": MOST_ITEMS}

    @property
    def framework_and_dimension(self) -> tuple[int, int | None]:
        """What is chosen, of a form that is valid; without a dimension the whole framework."""
        framework, _slash, dimension = str(self.cleaned_data["scale"]).partition("/")
        return int(framework), int(dimension) if dimension else None


def _scales(use: Use, dimensions: Sequence[Dimension]) -> list[Any]:
    if use is Use.FRAMEWORK:
        return list({(str(one.framework_id), one.framework.name): None for one in dimensions})
    groups: dict[tuple[int, str], list[tuple[str, str]]] = {}
    for one in dimensions:
        scales = groups.setdefault((one.framework_id, one.framework.name), [])
        scales.append((f"{one.framework_id}/{one.pk}", one.label))
    return [(name, scales) for (_framework, name), scales in groups.items()]
