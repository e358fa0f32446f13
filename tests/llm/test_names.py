"""Names in the forms of models: one line, no character that cannot be seen, and no key."""

import pytest

from apps.common.lines import IN_ONE_LINE
from apps.llm.forms.endpoints import EndpointForm, initial_of
from apps.llm.models import Endpoint, Prompt
from apps.llm.services.endpoints import EndpointError, create_endpoint
from apps.llm.services.model_raters import ModelRaterError, ensure_model_rater
from apps.llm.services.prompting import PromptingError, create_version
from apps.studies.models import RaterKind
from apps.studies.services.raters import RaterConflict, add_rater
from tests.llm.test_prompt_views import form, new_address
from tests.llm.test_prompting import new_version
from tests.llm.tried import typed
from tests.llm.worlds import make_endpoint, make_version

HIDDEN = ["warm\u202eone", "warm\x07one"]
BROKEN = [*HIDDEN, "warm\none", "warm\tone"]
KEY = "sk-not-a-real-key-77aa01"


@pytest.mark.parametrize("text", BROKEN)
def test_of_a_model(db, ada, text):
    filled = EndpointForm(typed(model=text), initial=initial_of(Endpoint()))
    assert filled.errors["model"] == [str(IN_ONE_LINE)]
    with pytest.raises(EndpointError, match="in one line") as refused:
        create_endpoint(by=ada, name="acorn", model=text)
    assert refused.value.field == "model"


@pytest.mark.parametrize("text", [*BROKEN, KEY])
def test_of_an_endpoint(db, ada, text):
    assert "name" in EndpointForm(typed(name=text), initial=initial_of(Endpoint())).errors
    with pytest.raises(EndpointError):
        create_endpoint(by=ada, name=text, model="made-up")
    assert not Endpoint.objects.exists()


@pytest.mark.parametrize("field", ["name", "model", "base_url"])
def test_a_key_is_not_shown_again(sign_in, ada, field):
    value = f"https://example.org/{KEY}/v1" if field == "base_url" else KEY
    answer = sign_in(ada).post("/endpoints/new/", typed(**{field: value}))
    assert answer.status_code == 422
    assert "looks like a key" in answer.text
    assert KEY not in answer.text


@pytest.mark.parametrize("text", BROKEN)
def test_of_a_prompt_in_its_form(rosa, grief, framework, sign_in, text):
    answer = sign_in(rosa).post(new_address(grief), form(framework, name=text))
    assert answer.status_code == 422
    assert str(IN_ONE_LINE) in answer.text
    assert not Prompt.objects.exists()


@pytest.mark.parametrize("text", HIDDEN)
def test_of_a_prompt_made_otherwise(rosa, grief, framework, text):
    with pytest.raises(PromptingError, match="in one line"):
        create_version(study=grief, name=text, new=new_version(framework), by=rosa)


@pytest.mark.parametrize("text", BROKEN)
def test_of_a_rater(rosa, grief, text):
    with pytest.raises(ModelRaterError, match="in one line"):
        ensure_model_rater(version=make_version(grief), endpoint=make_endpoint(), name=text, by=rosa)
    with pytest.raises(RaterConflict, match="stands in one line"):
        add_rater(study=grief, kind=RaterKind.LLM, name=text)
