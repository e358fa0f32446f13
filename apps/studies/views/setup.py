"""Making a study, setting what holds for all of it, copying and deleting it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from apps.accounts.access import PersonRequest, researcher_required
from apps.common.htmx import render_page_or_partial
from apps.corpus.models import Dataset
from apps.studies.access import managed_study, readable_study
from apps.studies.forms.setup import (
    AboutForm,
    CopyForm,
    NewStudyForm,
    OptionsForm,
    PrivacyForm,
    SeedForm,
    TextsForm,
    TypedNameForm,
)
from apps.studies.models import Study, StudyStatus
from apps.studies.services.copying import copy_study
from apps.studies.services.deleting import delete_study
from apps.studies.services.design import DesignError, create_study
from apps.studies.services.settings import change_seed, change_settings

SHOWS_AND_TAKES = require_http_methods(["GET", "HEAD", "POST"])
SECTIONS: "dict[str, type[forms.ModelForm[Study]]]" = {
    "about": AboutForm,
    "texts": TextsForm,
    "options": OptionsForm,
    "privacy": PrivacyForm,
}
NO_FORMS: Mapping[str, forms.BaseForm] = MappingProxyType({})


@researcher_required
@SHOWS_AND_TAKES
def study_new(request: PersonRequest) -> HttpResponse:
    """With `?dataset=` the way leads on to a first block of that dataset."""
    form = NewStudyForm(request.POST or None)
    dataset = Dataset.objects.visible_to(request.user).filter(slug=request.GET.get("dataset", "")).first()
    if request.method == "POST" and form.is_valid():
        try:
            study = create_study(owner=request.user, **form.cleaned_data)
        except DesignError as problem:
            form.add_error("slug", str(problem))
        else:
            messages.success(request, _("The study is made. It is a draft: raters see nothing of it yet."))
            if dataset is not None:
                return redirect(f"{reverse('studies:block-new', args=[study.slug])}?dataset={dataset.slug}")
            return redirect("studies:overview", slug=study.slug)
    return render(request, "studies/study_new.html", {"form": form, "dataset": dataset}, status=_status(request))


@login_required
@SHOWS_AND_TAKES
def settings(request: PersonRequest, slug: str) -> HttpResponse:
    """Each section is a form of its own; the button says which one is meant, or that the texts are to be looked at."""
    study = managed_study(request.user, slug)
    if request.method != "POST":
        return _settings_page(request, study)
    section = request.POST.get("section")
    if section == "seed":
        return _save_seed(request, study)
    if section not in SECTIONS:
        return _settings_page(request, study)
    form = SECTIONS[section](request.POST, instance=study)
    if section == "texts" and "preview" in request.POST:
        return _settings_page(request, study, {"texts": form}, preview=form.data.get("instructions", ""))
    if not form.is_valid():
        # The form has already written into the study what was typed: the page is about what is stored.
        return _settings_page(request, Study.objects.get(pk=study.pk), {section: form})
    change_settings(study=study, by=request.user, **form.cleaned_data)
    return _saved(request, study, section, _("Saved."))


def _save_seed(request: PersonRequest, study: Study) -> HttpResponse:
    form = SeedForm(request.POST)
    if not form.is_valid():
        return _settings_page(request, study, {"seed": form})
    try:
        change_seed(study=study, seed=form.cleaned_data["seed"], by=request.user)
    except DesignError as problem:
        form.add_error("seed", str(problem))
        return _settings_page(request, study, {"seed": form})
    return _saved(request, study, "seed", _("Saved. Blocks with a sample have drawn anew."))


def _saved(request: PersonRequest, study: Study, section: str, told: str) -> HttpResponse:
    """Back to the section, which says so itself."""
    messages.success(request, told, extra_tags=section)
    return redirect(f"{reverse('studies:settings', args=[study.slug])}#{section}-heading")


def _settings_page(
    request: PersonRequest, study: Study, bound: Mapping[str, forms.BaseForm] = NO_FORMS, *, preview: str | None = None
) -> HttpResponse:
    context: dict[str, Any] = {name: bound.get(name) or form(instance=study) for name, form in SECTIONS.items()}
    context |= {
        "study": study,
        "seed": bound.get("seed") or SeedForm(initial={"seed": study.seed}),
        "seed_is_fixed": study.status != StudyStatus.DRAFT or study.has_begun(),
        "preview": preview,
        "is_managed": True,
    }
    status = _status(request) if preview is None else 200
    return render_page_or_partial(request, "studies/settings.html", context, partial="preview", status=status)


@researcher_required
@SHOWS_AND_TAKES
def copy(request: PersonRequest, slug: str) -> HttpResponse:
    """Whoever reads a study may copy its design."""
    study = readable_study(request.user, slug)
    form = CopyForm(request.POST or None, initial={"title": _("%(title)s (copy)") % {"title": study.title}})
    if request.method == "POST" and form.is_valid():
        try:
            copied = copy_study(study=study, by=request.user, **form.cleaned_data)
        except DesignError as problem:
            form.add_error(None, str(problem))
        else:
            messages.success(request, _("The copy is made. It is a draft, and yours."))
            return redirect("studies:overview", slug=copied.slug)
    context = {"study": study, "form": form}
    return render(request, "studies/study_copy.html", context, status=_status(request))


@login_required
@SHOWS_AND_TAKES
def delete(request: PersonRequest, slug: str) -> HttpResponse:
    study = managed_study(request.user, slug)
    form = TypedNameForm(request.POST or None, name=study.slug)
    can_be = study.status == StudyStatus.DRAFT and not study.has_begun() and not study.blocks.begun().exists()
    if request.method == "POST" and form.is_valid():
        try:
            delete_study(study=study, by=request.user)
        except DesignError as problem:
            form.add_error(None, str(problem))
        else:
            messages.success(request, _("The study %(title)s is deleted.") % {"title": study.title})
            return redirect("studies:list")
    context = {"study": study, "form": form, "can_be_deleted": can_be}
    return render(request, "studies/study_delete.html", context, status=_status(request))


def _status(request: PersonRequest) -> int:
    """A page that is drawn after a POST is drawn because the form was refused."""
    return 422 if request.method == "POST" else 200
