"""Models' scores are unsealed by typing the study's short name: what was seen cannot be unseen."""

from collections.abc import Mapping
from typing import Any

from apps.studies.forms.setup import TypedNameForm
from apps.studies.models import Study


def seal_form_of(study: Study, data: Mapping[str, Any] | None = None) -> TypedNameForm:
    return TypedNameForm(data, name=study.slug, auto_id="seal_%s")
