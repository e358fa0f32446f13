"""The form a file of conversations is handed in with, and the one that says how it is read."""

from pathlib import PurePath
from typing import Any, BinaryIO, cast

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.common.reserved import validate_not_reserved
from apps.corpus.models import Dataset
from apps.corpus.parsing.formats import Format
from apps.corpus.parsing.records import EncodingError, FileError
from apps.corpus.parsing.rows import open_table
from apps.corpus.services.datasets import free_slug

ACCEPTED = ".csv,.tsv,.txt,.json,.jsonl,.ndjson,.xlsx,.parquet"
SLUG_LENGTH = 80

ENCODINGS = [
    ("", _("told by the file: byte order mark, else UTF-8")),
    ("utf-8", "UTF-8"),
    ("cp1252", _("Windows, western (cp1252)")),
    ("cp1250", _("Windows, central European (cp1250)")),
    ("cp1251", _("Windows, Cyrillic (cp1251)")),
    ("cp1253", _("Windows, Greek (cp1253)")),
    ("cp1254", _("Windows, Turkish (cp1254)")),
    ("cp1255", _("Windows, Hebrew (cp1255)")),
    ("cp1256", _("Windows, Arabic (cp1256)")),
    ("iso-8859-1", "Latin-1 (ISO 8859-1)"),
    ("iso-8859-15", "Latin-9 (ISO 8859-15)"),
    ("mac-roman", _("old Macintosh (Mac Roman)")),
    ("utf-16", "UTF-16"),
    ("utf-16-le", "UTF-16 LE"),
    ("utf-16-be", "UTF-16 BE"),
    ("gb18030", _("Chinese (GB 18030)")),
    ("big5", _("Chinese, traditional (Big5)")),
    ("shift_jis", _("Japanese (Shift JIS)")),
    ("euc-jp", _("Japanese (EUC-JP)")),
    ("euc-kr", _("Korean (EUC-KR)")),
]

FORMATS = [(str(name), name.upper()) for name in Format]


class FileForm(forms.Form):
    """A file of conversations, whatever is to be made of it."""

    file = forms.FileField(
        label=_("File"),
        help_text=_("CSV, TSV, JSON Lines, JSON, XLSX or Parquet. Click to choose it, or drop it here."),
        widget=forms.FileInput(attrs={"accept": ACCEPTED, "class": "file-drop"}),
    )

    def clean_file(self) -> "UploadedFile[Any]":
        """Refuses at once what can never be read; an encoding can still be chosen on the next page."""
        upload: UploadedFile[Any] = self.cleaned_data["file"]
        if upload.size is not None and upload.size > settings.UPLOAD_MAX_BYTES:
            limit = filesizeformat(settings.UPLOAD_MAX_BYTES)
            raise forms.ValidationError(_("The file is too large: at most %(limit)s.") % {"limit": limit})
        try:
            open_table(cast(BinaryIO, upload.file))
        except EncodingError:
            pass
        except FileError as error:
            raise forms.ValidationError(str(error)) from None
        upload.seek(0)
        return upload


class UploadForm(FileForm):
    """A file, and the dataset it goes into: one that is there, or a new one.

    With `dataset` given, the file is for that one, and nothing else is asked.
    """

    dataset = forms.ModelChoiceField(
        label=_("Into"),
        queryset=Dataset.objects.none(),
        required=False,
        to_field_name="slug",
        empty_label=_("a new dataset"),
        error_messages={"invalid_choice": _("There is no such dataset to which conversations can be added.")},
    )
    name = forms.CharField(
        label=_("Name of the new dataset"),
        required=False,
        max_length=200,
        help_text=_("Left empty, it is called as the file."),
    )
    slug = forms.SlugField(
        label=_("Short name"),
        required=False,
        max_length=SLUG_LENGTH,
        validators=[validate_not_reserved],
        widget=forms.TextInput(attrs={"data-slug-of": "id_name", "autocapitalize": "off", "spellcheck": "false"}),
        help_text=_("For addresses and commands: letters, digits and hyphens. Left empty, it is made from the name."),
    )
    description = forms.CharField(
        label=_("Description"), required=False, max_length=5_000, widget=forms.Textarea(attrs={"rows": 3})
    )
    source = forms.CharField(
        label=_("Source"),
        required=False,
        max_length=2_000,
        help_text=_("Where the conversations come from: a study, a publication, a website."),
    )
    licence = forms.CharField(
        label=_("Licence"), required=False, max_length=200, help_text=_("What others may do with them.")
    )

    def __init__(self, *args: Any, user: User, dataset: Dataset | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.into = dataset
        if dataset is not None:
            for name in ("dataset", "name", "slug", "description", "source", "licence"):
                del self.fields[name]
            return
        choices = self.fields["dataset"]
        choices.queryset = Dataset.objects.editable_by(user).filter(frozen_at=None)  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        self.into = self.into or cleaned.get("dataset")
        if self.into is None and "file" in cleaned and "slug" in cleaned and "name" in cleaned:
            cleaned["name"] = cleaned["name"] or _stem(cleaned["file"].name)
            if cleaned["slug"]:
                self._check_free(cleaned["slug"])
            else:
                cleaned["slug"] = free_slug(cleaned["name"])
        return cleaned

    def _check_free(self, slug: str) -> None:
        if not Dataset.objects.filter(slug=slug).exists():
            return
        if self.fields["dataset"].queryset.filter(slug=slug).exists():  # type: ignore[attr-defined]
            message = _("There is a dataset of this short name: choose it above to add to it, or choose another name.")
        else:
            message = _("This short name is taken: choose another.")
        self.add_error("slug", forms.ValidationError(message, code="taken"))

    @property
    def target(self) -> dict[str, Any]:
        """`dataset_slug`, `dataset_name` and `about` of a valid form, as `receive_upload` takes them."""
        if self.into is not None:
            return {"dataset_slug": self.into.slug, "dataset_name": self.into.name}
        about = {name: self.cleaned_data[name] for name in ("description", "source", "licence")}
        return {"dataset_slug": self.cleaned_data["slug"], "dataset_name": self.cleaned_data["name"], "about": about}


def _stem(file_name: str | None) -> str:
    stem = PurePath(file_name or "").stem.replace("_", " ").strip()
    return stem[:200] or str(_("Dataset"))


class ReadingForm(forms.Form):
    """How the bytes of a file are read, where it does not tell."""

    encoding = forms.ChoiceField(label=_("Encoding"), choices=ENCODINGS, required=False)
    format = forms.ChoiceField(label=_("Format"), choices=[("", _("told by the content")), *FORMATS], required=False)
