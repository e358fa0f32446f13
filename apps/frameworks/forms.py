"""Reading a framework from a form: a file, or text typed or pasted, with every problem and its line."""

import hashlib
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from apps.frameworks.framework_file import FrameworkProblems, parse_framework, read_framework
from apps.frameworks.scales import FrameworkSpec
from apps.frameworks.yaml_tree import MAX_BYTES, Problem

MAX_PROBLEMS_SHOWN = 50


@dataclass(frozen=True)
class FoundProblem:
    """A problem, with the line of text it is about ("" where it is about no one line)."""

    problem: Problem
    line_text: str


class FrameworkTextForm(forms.Form):
    """Whatever was typed is kept: what is wrong with the YAML is no error of the form, but a list beside it."""

    file = forms.FileField(
        label=_("A file"),
        required=False,
        max_length=255,
        help_text=_("YAML, at most 256 kB. It takes the place of the text below."),
        widget=forms.FileInput(attrs={"accept": ".yaml,.yml,application/yaml,text/yaml"}),
    )
    text = forms.CharField(
        label=_("Or the text itself"),
        required=False,
        strip=False,
        help_text=_("Write or paste YAML here. Nothing is stored before you have seen the scales."),
        widget=forms.Textarea(
            attrs={"rows": 24, "spellcheck": "false", "autocapitalize": "off", "autocomplete": "off", "dir": "ltr"}
        ),
    )
    checked = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A character that no text may hold is a problem of its line, told with the others.
        self.fields["text"].validators = []
        self.content = ""
        self.spec: FrameworkSpec | None = None
        self.problems: list[Problem] = []

    def clean_text(self) -> str:
        """Browsers send every line end as two characters; a file has one."""
        return with_plain_line_ends(self.cleaned_data["text"])

    def clean(self) -> None:
        """Sets `content`, and `spec` or `problems`."""
        self.content = self.cleaned_data.get("text", "")
        if self.errors:
            return
        upload = self.cleaned_data.get("file")
        try:
            if upload is None:
                self.spec = parse_framework(self.content)
                return
            # One byte more than is allowed is enough to refuse the file.
            data = upload.read(MAX_BYTES + 1)
            if len(data) <= MAX_BYTES:
                self.content = _decoded(data, otherwise=self.content)
            self.spec = read_framework(data)
        except FrameworkProblems as error:
            self.problems = error.problems

    @property
    def digest(self) -> str:
        """SHA-256 of the text, so that only what was shown is loaded."""
        return hashlib.sha256(self.content.encode(errors="replace")).hexdigest()

    @property
    def was_checked(self) -> bool:
        """Whether the scales of exactly this text were shown before."""
        return self.cleaned_data.get("checked") == self.digest

    def problems_shown(self) -> list[FoundProblem]:
        lines = self.content.split("\n")

        def line_of(problem: Problem) -> str:
            return lines[problem.line - 1].strip() if problem.line and problem.line <= len(lines) else ""

        return [FoundProblem(problem, line_of(problem)) for problem in self.problems[:MAX_PROBLEMS_SHOWN]]

    def shown_again(self) -> "FrameworkTextForm":
        """The form to be drawn after a check: it holds the text, the file's too, ready to be mended or loaded."""
        if self.errors:
            return self
        return FrameworkTextForm(initial={"text": self.content, "checked": self.digest if self.spec else ""})


def with_plain_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decoded(data: bytes, *, otherwise: str) -> str:
    try:
        return with_plain_line_ends(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return otherwise
