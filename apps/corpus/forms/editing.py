"""Forms for making, describing, copying and deleting a dataset."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Role, User
from apps.common.reserved import validate_not_reserved
from apps.corpus.models import Conversation, Dataset
from apps.corpus.services.datasets import free_slug

TAKEN = _("A dataset has this short name already. Choose another.")


class DatasetForm(forms.ModelForm):  # type: ignore[type-arg]
    """What is said about a dataset. Only admins choose whose it is."""

    class Meta:
        model = Dataset
        fields = ["name", "description", "source", "licence", "owner"]
        labels = {
            "name": _("Name"),
            "description": _("Description"),
            "source": _("Source"),
            "licence": _("Licence"),
            "owner": _("Belongs to"),
        }
        help_texts = {
            "source": _("Where the conversations come from."),
            "licence": _("What may be done with them, for example CC BY 4.0."),
            "owner": _("Its owner and the admins may change it. What belongs to the site is open to every researcher."),
        }
        widgets = {"description": forms.Textarea(attrs={"rows": 4}), "source": forms.Textarea(attrs={"rows": 2})}

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "owner" not in self.fields:
            return
        if not user.is_admin:
            del self.fields["owner"]
            return
        may_own = Q(is_active=True, role__in=[Role.ADMIN, Role.RESEARCHER]) | Q(pk=self.instance.owner_id)
        self.fields["owner"].queryset = User.objects.filter(may_own).order_by("email")  # type: ignore[attr-defined]
        self.fields["owner"].empty_label = _("the site")  # type: ignore[attr-defined]

    def clean_description(self) -> str:
        return _with_plain_line_ends(self.cleaned_data["description"])

    def clean_source(self) -> str:
        return _with_plain_line_ends(self.cleaned_data["source"])


class NewDatasetForm(DatasetForm):
    """With the short name, which never changes afterwards."""

    slug = forms.SlugField(
        label=_("Short name"),
        max_length=80,
        required=False,
        help_text=_(
            "For addresses, commands and results: letters, digits and hyphens. It never changes. "
            "Left empty, it is made from the name."
        ),
        widget=forms.TextInput(attrs={"data-slug-of": "id_name", "autocapitalize": "off", "spellcheck": "false"}),
        validators=[validate_not_reserved],
    )
    field_order = ["name", "slug", "description", "source", "licence", "owner"]

    def clean_slug(self) -> str:
        slug = str(self.cleaned_data["slug"])
        if slug and Dataset.objects.filter(slug=slug).exists():
            raise ValidationError(TAKEN)
        return slug

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        if "name" in self.cleaned_data and "slug" in self.cleaned_data:
            self.instance.slug = self.cleaned_data["slug"] or free_slug(self.cleaned_data["name"])


class CopyDatasetForm(NewDatasetForm):
    """The rest is said of the copy as it was of the dataset."""

    class Meta(DatasetForm.Meta):
        fields = ["name"]


class TypeToDeleteForm(forms.Form):
    """The name is typed, so that nothing is deleted by a slip."""

    confirm = forms.CharField(
        label=_("Type it to confirm"),
        strip=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: Any, thing: Dataset | Conversation, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = thing.name if isinstance(thing, Dataset) else thing.external_id

    def clean_confirm(self) -> str:
        typed = str(self.cleaned_data["confirm"])
        if typed.split() != self.name.split():
            raise ValidationError(_("This is not the name: %(name)s."), params={"name": self.name})
        return typed


def _with_plain_line_ends(text: str) -> str:
    """Browsers send every line end as two characters."""
    return text.replace("\r\n", "\n")
