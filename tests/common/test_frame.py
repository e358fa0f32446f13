"""The frame of every page, and the pieces every page may include."""

import tomllib
from pathlib import Path

import pytest
from django import forms
from django.core.paginator import Paginator
from django.template.loader import render_to_string
from django.test import RequestFactory

from apps.common.version import VERSION

ROOT = Path(__file__).resolve().parents[2]


def test_the_version_is_that_of_the_project():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION


class TestPagination:
    def draw(self, address: str, number: int, total: int = 60, **context: object) -> str:
        page = Paginator(range(total), 25).page(number)
        return render_to_string("_pagination.html", {"page_obj": page, **context}, RequestFactory().get(address))

    def test_it_keeps_the_rest_of_the_address(self):
        html = self.draw("/?q=a%20b&page=2&sort=name", 2)
        assert 'href="?q=a+b&amp;page=1&amp;sort=name"' in html
        assert 'href="?q=a+b&amp;page=3&amp;sort=name"' in html
        assert "Page 2 of 3, 26 to 50 of 60" in html

    def test_the_ends_have_one_way_only(self):
        assert "prev" not in self.draw("/", 1)
        assert "next" not in self.draw("/", 3)

    def test_a_short_list_has_none(self):
        assert self.draw("/", 1, total=25).strip() == ""

    def test_htmx_is_beside_the_link_never_instead_of_it(self):
        html = self.draw("/", 1, target="user-list")
        assert 'href="?page=2" hx-get="?page=2" hx-target="#user-list"' in html
        assert "hx-" not in self.draw("/", 1)

    def test_the_address_cannot_break_out(self):
        """CASES 35."""
        assert '"><script>' not in self.draw('/?q="><script>alert(1)</script>', 1)


KINDS = [("a", "A"), ("b", "B")]


class Letter(forms.Form):
    text = forms.CharField(label="Text", help_text="What was <em>said</em>")
    seen = forms.BooleanField(label="Seen")
    kind = forms.ChoiceField(label="Kind", choices=KINDS, widget=forms.RadioSelect, help_text="Which")
    hidden = forms.CharField(widget=forms.HiddenInput, required=False)

    def clean(self) -> None:
        raise forms.ValidationError("Nothing of this can be.")


class TestFields:
    @pytest.fixture
    def html(self) -> str:
        return render_to_string("_fields.html", {"form": Letter({})})

    def test_help_and_error_are_tied_to_the_control(self, html):
        assert 'aria-describedby="id_text_helptext id_text_error"' in html
        assert 'id="id_text_helptext"' in html
        assert 'id="id_text_error"' in html
        assert 'aria-invalid="true"' in html

    def test_every_id_is_there_once(self, html):
        ids = [part.split('"')[0] for part in html.split(' id="')[1:]]
        assert sorted(ids) == sorted(set(ids))

    def test_choices_are_a_fieldset_with_a_legend(self, html):
        assert "<legend>Kind</legend>" in html
        assert 'aria-describedby="id_kind_helptext' in html

    def test_a_general_error_comes_first(self, html):
        assert html.index("Nothing of this can be.") < html.index("id_text")

    def test_a_hidden_field_has_no_label(self, html):
        assert 'type="hidden"' in html
        assert "Hidden" not in html
