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


class ProblemsBesideFields(forms.Form):
    """Shows what registering somebody refused beside the fields it is about."""

    def add_problems(self, error: forms.ValidationError) -> None:
        if hasattr(error, "error_dict"):
            for field, problems in error.error_dict.items():
                self.add_error(field if field in self.fields else None, problems)
            return
        is_password = any(str(problem.code).startswith("password_") for problem in error.error_list)
        self.add_error("password" if is_password else "email", error)


class NewPersonForm(ProblemsBesideFields):
    """Somebody an admin lets in; they set their password themselves."""

    email = forms.EmailField(
        label=_("E-mail address"), max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "off"})
    )
    name = forms.CharField(
        label=_("Name"), max_length=150, required=False, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    role = forms.ChoiceField(label=_("Role"), choices=Role, initial=Role.RESEARCHER)


class RegistrationForm(ProblemsBesideFields):
    """A new account. With `fixed_email` the address is given and cannot be changed."""

    name = forms.CharField(
        label=_("Name"),
        max_length=150,
        help_text=_("How colleagues see you. Raters' names never appear in results."),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    email = forms.EmailField(
        label=_("E-mail address"), max_length=254, widget=forms.EmailInput(attrs={"autocomplete": "username"})
    )
    password = forms.CharField(
        label=_("Password"),
        max_length=1000,
        strip=False,
        help_text=_("At least 10 characters."),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, *args: object, fixed_email: str = "", **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        if fixed_email:
            # A field that is disabled takes its initial value, whatever is sent.
            self.fields["email"].disabled = True
            self.initial["email"] = fixed_email


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
