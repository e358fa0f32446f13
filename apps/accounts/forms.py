"""What people type to sign in, to be named, and to make and end access."""

from django import forms
from django.contrib.auth import forms as auth_forms
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiKey, Role, User


class SignInForm(auth_forms.AuthenticationForm):
    error_messages = {
        "invalid_login": _("This e-mail address and password do not belong together."),
        "inactive": _("This e-mail address and password do not belong together."),
    }

    def clean_username(self) -> str:
        # Attempts are counted by this text: other spellings of one address must not be counted apart.
        return str(self.cleaned_data["username"]).strip().lower()


class PasswordResetForm(auth_forms.PasswordResetForm):
    email = forms.EmailField(
        label=_("E-mail address"), max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )


class ProfileForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = User
        fields = ["name"]
        help_texts = {"name": _("How colleagues see you. Raters' names never appear in results.")}


class KeyForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = ApiKey
        fields = ["name"]
        labels = {"name": _("What the key is for")}
        help_texts = {"name": _("For example: notebook on the lab computer")}


class RoleForm(forms.Form):
    role = forms.ChoiceField(label=_("Role"), choices=Role)


class UserSearchForm(forms.Form):
    q = forms.CharField(
        label=_("Find by name or e-mail address"),
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"type": "search"}),
    )


class DeactivateForm(forms.Form):
    """The person's address is typed, so that nobody is deactivated by a slip."""

    confirm = forms.CharField(
        label=_("E-mail address of the person"), widget=forms.EmailInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, *args: object, user: User, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.user = user

    def clean_confirm(self) -> str:
        typed = str(self.cleaned_data["confirm"]).strip().lower()
        if typed != self.user.email:
            raise forms.ValidationError(
                _("This is not the address of this person: %(email)s."), params={"email": self.user.email}
            )
        return typed
