"""What people type to make a study and to set what holds for all of it."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from apps.common.reserved import validate_not_reserved
from apps.common.slugs import slug_from
from apps.studies.models import Study

LONGEST_TEXT = 20_000
LONGEST_RESERVATION_HOURS = 30 * 24
LARGEST_SEED = 2_147_483_647
SLUG_LENGTH = 80


class SlugField(forms.SlugField):
    """The short name in addresses and commands; left empty, it is made from the title (`data-slug-of`)."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            label=_("Short name"),
            required=False,
            max_length=SLUG_LENGTH,
            validators=[validate_not_reserved],
            widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "data-slug-of": "id_title"}),
            **kwargs,
        )


def slug_for(form: forms.Form) -> str:
    """The slug that was typed, else one made from the title. Raises ValidationError where neither gives one."""
    typed = str(form.cleaned_data.get("slug", "")).lower()
    slug = typed or slug_from(str(form.cleaned_data.get("title", "")))[:SLUG_LENGTH].strip("-")
    if not slug:
        raise ValidationError(_("Give a short name of letters, digits and hyphens."))
    validate_not_reserved(slug)
    return slug


class NamedForm(forms.Form):
    """A new study: its title and its short name, which no other study has."""

    title = forms.CharField(label=_("Title"), max_length=200, help_text=_("Raters see it."))
    slug = SlugField(
        help_text=_(
            "For the study's address, commands and files: letters, digits and hyphens. It never changes. "
            "Left empty, it is made from the title."
        )
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if "title" not in cleaned or "slug" in self.errors:
            return cleaned
        try:
            slug = slug_for(self)
        except ValidationError as problem:
            self.add_error("slug", problem)
            return cleaned
        if Study.objects.filter(slug=slug).exists():
            self.add_error("slug", _("Another study is called %(slug)s already.") % {"slug": slug})
        cleaned["slug"] = slug
        return cleaned


class NewStudyForm(NamedForm):
    description = forms.CharField(
        label=_("Description for colleagues"),
        required=False,
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("What the study is to find out. Raters never see it."),
    )


class CopyForm(NamedForm):
    with_members = forms.BooleanField(
        label=_("Take its owners and researchers along"), required=False, help_text=_("Raters are invited anew.")
    )


class AboutForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Study
        fields = ["title", "description"]
        labels = {"description": _("Description for colleagues")}
        help_texts = {"title": _("Raters see it."), "description": _("Raters never see it.")}
        widgets = {"description": forms.Textarea(attrs={"rows": 4, "maxlength": LONGEST_TEXT})}


class TextsForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Study
        fields = ["instructions", "content_warning", "support_contact"]
        help_texts = {
            "instructions": _(
                "Shown before rating begins, and within reach while it goes on. Markdown: # heading, - list, **bold**, "
                "[words](https://address). Speakers are called Seeker and Supporter in the conversations that raters "
                "read, whatever the file called them: use these words here too."
            ),
            "content_warning": _("Shown before the first conversation, for example: some stories are about suicide."),
            "support_contact": _("Whom raters can turn to, with questions or after a hard story."),
        }
        widgets = {
            "instructions": forms.Textarea(attrs={"rows": 14, "maxlength": LONGEST_TEXT}),
            "content_warning": forms.Textarea(attrs={"rows": 3, "maxlength": LONGEST_TEXT}),
            "support_contact": forms.Textarea(attrs={"rows": 3, "maxlength": LONGEST_TEXT}),
        }


class OptionsForm(forms.ModelForm):  # type: ignore[type-arg]
    reservation_hours = forms.IntegerField(
        label=_("Hours until an untouched item goes to somebody else"),
        min_value=1,
        max_value=LONGEST_RESERVATION_HOURS,
        help_text=_("Where raters share items out: who takes one and gives no sign of life loses their place."),
    )

    class Meta:
        model = Study
        fields = [
            "allow_evidence",
            "allow_comments",
            "allow_cannot_tell",
            "reservation_hours",
            "exclusion_reopens_slots",
        ]
        labels = {
            "allow_evidence": _("Raters may mark the words that support a rating"),
            "allow_comments": _("Raters may comment on a rating"),
            "allow_cannot_tell": _("Raters may answer “cannot tell” on a scale"),
            "exclusion_reopens_slots": _("When a rater is excluded, somebody else rates their items"),
        }
        help_texts = {"exclusion_reopens_slots": _("Where raters share items out.")}


class PrivacyForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Study
        fields = ["local_only"]
        labels = {"local_only": _("The text of this study stays on this machine")}
        help_texts = {
            "local_only": _(
                "Only language models on this machine (at 127.0.0.1 or localhost) are asked about it; nobody can "
                "confirm otherwise. A run at a model elsewhere stops before its next request."
            )
        }


class SeedForm(forms.Form):
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=LARGEST_SEED,
        help_text=_("The same seed draws the same samples and the same orders. Any number will do."),
    )


class TypedNameForm(forms.Form):
    """The short name is typed, so that nothing irreversible happens by a slip."""

    confirm = forms.CharField(
        label=_("Short name"), widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    )

    def __init__(self, *args: Any, name: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = name
        self.fields["confirm"].help_text = _("Type %(name)s to confirm.") % {"name": name}

    def clean_confirm(self) -> str:
        typed = str(self.cleaned_data["confirm"]).strip()
        if typed != self.name:
            raise ValidationError(_("This is not the short name: %(name)s."), params={"name": self.name})
        return typed
