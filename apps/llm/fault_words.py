"""What was wrong with a model's answer, in words for pages."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.llm.faults import Fault

FAULTS: Mapping[str, str | Promise] = {
    Fault.EMPTY: _("the reply was empty"),
    Fault.TOO_LONG: _("the reply was too long"),
    Fault.NO_JSON: _("no JSON object in the reply"),
    Fault.CUT_OFF: _("the reply was cut off"),
    Fault.NOT_JSON: _("its JSON was not valid"),
    Fault.TOO_DEEP: _("its JSON was nested too deeply"),
    Fault.AMBIGUOUS: _("several JSON objects that differ"),
    Fault.ARRAY: _("an array in place of an object"),
    Fault.MISSING: _("no score"),
    Fault.NOT_AN_OBJECT: _("no object with a score"),
    Fault.REPEATED: _("a member stood there twice"),
    Fault.NOT_ALLOWED: _("the score was no allowed answer"),
}
