"""A template names what it does not know, and never reads what it is filled with."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.default_templates import DEFAULT_TEMPLATES
from apps.llm.templates import MOST_TIMES, PLACEHOLDERS, REQUIRED, PromptTemplate, TemplateError, Use, fill
from tests.llm.made import property_test

USER = "{{question}} {{points}} {{conversation}} {{answer_form}}"


def problem(system: str = "", user: str = USER, use: Use = Use.SCALE) -> str:
    with pytest.raises(TemplateError) as raised:
        PromptTemplate(use, system, user).check()
    return str(raised.value)


@pytest.mark.parametrize("use", Use)
def test_the_default_templates_can_be_used_and_leave_nothing_out(use):
    template = DEFAULT_TEMPLATES[use]
    template.check()
    assert template.use is use
    assert set(template.names) == set(PLACEHOLDERS[use]) - {"description"}


def test_unknown_placeholders_are_all_named():
    message = problem(system="{{ rôle }}", user=USER + "{{scales}} {{}} {{a b}}")
    assert message.startswith("Unknown placeholders: {{rôle}}. Known for one scale: scale,")
    assert "Unknown placeholders: {{scales}}, {{}}, {{a b}}. Known for one scale: scale," in message


def test_each_problem_is_told_of_its_message():
    template = PromptTemplate(Use.SCALE, "{{conversation}} {{ {{tone}}", "{{question}} {{points}} {{colour}}")
    assert [text.split(".")[0][:40] for text in template.system_problems()] == [
        "The system message opens a placeholder w",
        "Unknown placeholders: {{tone}}",
        "{{conversation}} may stand in the user m",
    ]
    assert [text.split(".")[0] for text in template.user_problems()] == [
        "Unknown placeholders: {{colour}}",
        "{{answer_form}} is missing",
    ]
    assert template.problems() == template.system_problems() + template.user_problems()


@pytest.mark.parametrize("use", Use)
def test_what_a_prompt_needs_must_be_there(use):
    message = problem(user="Rate it.", use=use)
    assert [name for name in REQUIRED[use] if f"{{{{{name}}}}} is missing." not in message] == []


@pytest.mark.parametrize("name", ["conversation", "examples"])
def test_other_peoples_text_does_not_go_into_the_system_message(name):
    assert f"{{{{{name}}}}} may stand in the user message only." in problem(system=f"{{{{ {name} }}}}")


def test_the_conversation_stands_there_once():
    assert problem(user=USER + "{{conversation}}") == "{{conversation}} must stand there once."


@pytest.mark.parametrize(("name", "use"), [("examples", Use.SCALE), ("scales", Use.FRAMEWORK)])
def test_other_long_places_stand_there_once_too(name, use):
    user = f"{{{{scales}}}} {USER}" if use is Use.FRAMEWORK else f"{{{{{name}}}}} {USER}"
    assert f"{{{{{name}}}}} must stand there once." in problem(user=f"{user} {{{{{name}}}}}", use=use)


def test_every_other_place_may_be_repeated_a_little():
    PromptTemplate(Use.SCALE, "{{scale}}" * 4, USER + "{{scale}}" * (MOST_TIMES - 4)).check()
    message = problem(system="{{ points }}" * 4, user=USER + "{{points}}" * (MOST_TIMES - 4))
    assert message == "{{points}} stands there 11 times: at most 10, in both messages together."


@pytest.mark.parametrize("user", [USER + "{{question", "{{" + USER, USER + "{{ {question} }}"])
def test_a_placeholder_that_is_not_closed_is_a_problem(user):
    assert "opens a placeholder with {{ and does not close it" in problem(user=user)


def test_json_in_a_template_is_text():
    PromptTemplate(Use.SCALE, 'Such as {"a": {"b": {}}} or $5.', USER).check()


def test_a_value_is_not_read_as_a_placeholder():
    values = {"question": "{{points}} \\1 $points", "points": "p"}
    assert fill("{{question}} / {{ points }}", values) == "{{points}} \\1 $points / p"


def test_a_line_whose_only_place_is_empty_goes_with_the_empty_line_after_it():
    assert fill("a\n\n{{stem}}\n\nb {{stem}}\n\n\nc", {"stem": ""}) == "a\n\nb \n\n\nc"
    assert fill("a\n\n{{stem}}\n\nb", {"stem": "s"}) == "a\n\ns\n\nb"


@property_test
@given(st.text(st.sampled_from("{} \nax")), st.text(st.sampled_from("{} \nax")))
def test_any_template_can_be_used_or_says_why(system, user):
    template = PromptTemplate(Use.FRAMEWORK, system, "{{scales}} {{conversation}} {{answer_form}}" + user)
    if template.problems():
        assert all(sentence.endswith(".") for sentence in template.problems())
        return
    values = dict.fromkeys(PLACEHOLDERS[Use.FRAMEWORK], "v")
    assert re.sub("[^ax]", "", fill(user, values)) == re.sub("[^ax]", "", user)
    assert "{{" not in fill(user, values)
