"""Files handed in as a browser does, and the forms of the check page sent back as they were shown."""

from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.forms import Form
from django.test import Client
from django.urls import reverse

from apps.corpus.models import Conversation, ConversationUpload
from apps.corpus.tasks import import_upload

UPLOAD = reverse("corpus:upload")


def as_file(data: str | bytes, name: str = "talks.csv") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data.encode() if isinstance(data, str) else data)


def hand_in(client: Client, data: str | bytes, name: str = "talks.csv", **fields: str) -> ConversationUpload:
    """Upload a file on the page of uploads; with `into`, on that of the dataset."""
    into = fields.pop("into", None)
    address = reverse("corpus:dataset-upload", args=[into]) if into else UPLOAD
    response = client.post(address, {"file": as_file(data, name), **fields})
    assert response.status_code == 302, response.context["form"].errors
    return ConversationUpload.objects.get(pk=int(response["Location"].rstrip("/").rpartition("/")[2]))


def url(name: str, upload: ConversationUpload, *more: int) -> str:
    return reverse(f"corpus:{name}", args=[upload.pk, *more])


def as_sent(form: Form) -> dict[str, Any]:
    """What a browser would send of a form that nobody has touched."""
    sent = {}
    for field in form:
        value = field.value()
        if value is True:
            sent[field.html_name] = "on"
        elif value not in (None, False):
            sent[field.html_name] = value
        elif value is None:
            sent[field.html_name] = ""
    return sent


def shown(client: Client, upload: ConversationUpload, **changes: Any) -> dict[str, Any]:
    """The form of the check page, with changes: `text="body"` says that the column body is the text."""
    form = client.get(url("upload-check", upload)).context["form"]
    return as_sent(form) | changes


def means(client: Client, upload: ConversationUpload, **meanings: str) -> dict[str, Any]:
    """The form of the check page with columns of the file given a meaning: `means(..., body="text")`."""
    form = client.get(url("upload-check", upload)).context["form"]
    sent = as_sent(form)
    for header, meaning in meanings.items():
        place = form.headers.index(header)
        kind, _, name = meaning.partition(".")
        sent |= {f"column_{place}": kind, f"column_{place}_name": name}
    return sent


def run_import(client: Client, upload: ConversationUpload, data: dict[str, Any] | None = None) -> Any:
    """Press the button that imports, and let a worker do it; the job as it ended."""
    response = client.post(url("upload-import", upload), shown(client, upload) if data is None else data)
    assert response.status_code == 302, response.context["preview"].fault or response.context["form"].errors
    upload.refresh_from_db()
    assert upload.job is not None
    assert response["Location"] == reverse("common:job", args=[upload.job.pk])
    import_upload(upload.job.pk)
    upload.job.refresh_from_db()
    return upload.job


def stored() -> dict[str, list[str]]:
    return {
        conversation.external_id: [turn.text for turn in conversation.turns.all()]
        for conversation in Conversation.objects.prefetch_related("turns")
    }
