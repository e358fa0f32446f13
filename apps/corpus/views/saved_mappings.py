"""Column mappings kept under a name: kept from, and used on, the check page of an upload."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.accounts.access import PersonRequest, researcher_required
from apps.corpus.forms.mapping import MappingNameForm
from apps.corpus.models import SavedMapping
from apps.corpus.parsing.records import FileError
from apps.corpus.services.saved_mappings import TooManyMappingsError, keep_mapping, use_mapping
from apps.corpus.services.uploads import UploadClosedError
from apps.corpus.views.uploads import check_page, settled_look, upload_of


@researcher_required
@require_POST
def mapping_keep(request: PersonRequest, pk: int) -> HttpResponse:
    """Keep the mapping of the form under the name given, in place of one of that name."""
    upload = upload_of(request, pk)
    look = settled_look(upload, request.POST)
    named = MappingNameForm(request.POST)
    if look.form is None or not (look.is_valid and named.is_valid()):
        return check_page(request, upload, look, naming=named, status=422)
    try:
        saved = keep_mapping(owner=request.user, name=named.cleaned_data["mapping_name"], mapping=look.form.base)
    except TooManyMappingsError:
        messages.error(request, _("You keep 50 mappings, which is as many as can be kept: delete one first."))
    else:
        messages.success(request, _("The mapping is kept as “%(name)s”.") % {"name": saved.name})
    return redirect("corpus:upload-check", upload.pk)


@researcher_required
@require_POST
def mapping_use(request: PersonRequest, pk: int, mapping_pk: int) -> HttpResponse:
    """Give the upload a mapping that is kept, as far as the file has its columns."""
    upload = upload_of(request, pk)
    saved = get_object_or_404(SavedMapping, owner=request.user, pk=mapping_pk)
    try:
        use_mapping(saved=saved, upload=upload)
    except UploadClosedError:
        messages.warning(request, _("The import of this file waits, runs or is done: nothing was changed."))
    except FileError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("The mapping “%(name)s” is used.") % {"name": saved.name})
    return redirect("corpus:upload-check", upload.pk)


@researcher_required
@require_POST
def mapping_delete(request: PersonRequest, pk: int, mapping_pk: int) -> HttpResponse:
    """Forget a mapping that is kept. What was imported with it stays."""
    upload = upload_of(request, pk)
    saved = get_object_or_404(SavedMapping, owner=request.user, pk=mapping_pk)
    saved.delete()
    messages.success(request, _("The mapping “%(name)s” is forgotten.") % {"name": saved.name})
    return redirect("corpus:upload-check", upload.pk)
