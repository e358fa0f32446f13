"""Datasets made, described, copied and deleted in the browser."""

from typing import Any

from django.contrib import messages
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from apps.accounts.access import PersonRequest, researcher_required
from apps.corpus.forms.editing import (
    TAKEN,
    CopyDatasetForm,
    DatasetForm,
    NewDatasetForm,
    TypeToDeleteForm,
)
from apps.corpus.models import ConversationUpload, Dataset, Turn
from apps.corpus.services.datasets import (
    DatasetInUseError,
    copy_dataset,
    create_dataset,
    delete_dataset,
    edit_dataset,
)
from apps.corpus.services.usage import usage_of_dataset


@researcher_required
@require_http_methods(["GET", "HEAD", "POST"])
def dataset_new(request: PersonRequest) -> HttpResponse:
    form = NewDatasetForm(request.POST or None, user=request.user, instance=Dataset(owner=request.user))
    if request.method == "POST" and form.is_valid():
        try:
            dataset = create_dataset(dataset=form.instance, actor=request.user)
        except IntegrityError:
            form.add_error("slug", TAKEN)
        else:
            messages.success(request, _("The dataset %(dataset)s is made.") % {"dataset": dataset})
            return redirect("corpus:dataset", dataset.slug)
    return _form_page(request, "corpus/dataset_form.html", {"form": form})


@researcher_required
@require_http_methods(["GET", "HEAD", "POST"])
def dataset_edit(request: PersonRequest, slug: str) -> HttpResponse:
    """What is said about the dataset may change at any time, frozen or not: raters do not see it."""
    dataset = _editable(request, slug)
    name = dataset.name
    form = DatasetForm(request.POST or None, user=request.user, instance=dataset)
    if request.method == "POST" and form.is_valid():
        changed = edit_dataset(dataset=form.instance, actor=request.user)
        messages.success(request, _("Saved.") if changed else _("Nothing has changed."))
        return redirect("corpus:dataset", slug)
    return _form_page(request, "corpus/dataset_form.html", {"form": form, "dataset": dataset, "name": name})


@researcher_required
@require_http_methods(["GET", "HEAD", "POST"])
def dataset_delete(request: PersonRequest, slug: str) -> HttpResponse:
    dataset = _editable(request, slug)
    form = TypeToDeleteForm(request.POST or None, thing=dataset)
    if request.method == "POST" and form.is_valid():
        try:
            delete_dataset(dataset=dataset, actor=request.user)
        except DatasetInUseError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, _("The dataset %(dataset)s is deleted.") % {"dataset": dataset})
            return redirect("corpus:datasets")
    context = {
        "form": form,
        "dataset": dataset,
        "usage": usage_of_dataset(dataset=dataset, user=request.user),
        "n_conversations": dataset.conversations.count(),
        "n_turns": Turn.objects.filter(conversation__dataset=dataset).count(),
        "n_waiting": ConversationUpload.objects.waiting_for(dataset).count(),
    }
    return _form_page(request, "corpus/dataset_delete.html", context)


@researcher_required
@require_http_methods(["GET", "HEAD", "POST"])
def dataset_copy(request: PersonRequest, slug: str) -> HttpResponse:
    """Whoever may see a dataset may have one of their own like it."""
    dataset = get_object_or_404(Dataset.objects.visible_to(request.user), slug=slug)
    about = {name: getattr(dataset, name) for name in ("description", "source", "licence")}
    copy = Dataset(owner=request.user, **about)
    initial = {"name": (_("%(dataset)s, copy") % {"dataset": dataset.name})[:200]}
    form = CopyDatasetForm(request.POST or None, user=request.user, instance=copy, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            copy_dataset(dataset=dataset, copy=form.instance, actor=request.user)
        except IntegrityError:
            form.add_error("slug", TAKEN)
        else:
            messages.success(request, _("This is the copy. Its conversations can be changed."))
            return redirect("corpus:dataset", copy.slug)
    context = {"form": form, "dataset": dataset, "n_conversations": dataset.conversations.count()}
    return _form_page(request, "corpus/dataset_copy.html", context)


def _editable(request: PersonRequest, slug: str) -> Dataset:
    return get_object_or_404(Dataset.objects.editable_by(request.user).select_related("owner"), slug=slug)


def _form_page(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    """A page that is drawn after a POST is drawn because the form was refused."""
    return render(request, template, context, status=422 if request.method == "POST" else 200)
