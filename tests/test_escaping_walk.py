"""Markup in titles, names, texts, comments and headers is shown as text on every page. CASES 35."""

import json
from html.parser import HTMLParser

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.accounts.models import ApiKey, User
from apps.annotation.models import Rating
from apps.annotation.parsing.reading import Told
from apps.annotation.services.uploads import receive_upload
from apps.common.models import Job
from apps.corpus.models import Conversation, ConversationUpload, Dataset, SavedMapping, Turn
from apps.frameworks.models import Dimension, Framework, ScalePoint
from apps.llm.models import Call, CallAnswer, Exchange, Pause, Prompt, PromptVersion, Run, RunState
from apps.reliability.services.snapshots import take_snapshot
from apps.reports.models import StoredReport
from apps.studies.models import Assignment, Block, Exclusion, Rater, Study
from tests.walking import Walker, every_route, furnish, objects_of

# What a page answers does not depend on the database, and the walks are long.
pytestmark = pytest.mark.once

# Each names itself, so that an element made of it is told from one of ours.
SCRIPT = "<script>planted()</script>"
IMAGE = '"><img src=planted onerror=planted()>'
LINK = "[planted](javascript:planted())"
# Short enough for every name that is not bounded below 100 characters.
NASTY = f"{SCRIPT}{IMAGE}<b onclick='planted()'>"


class Planted(HTMLParser):
    """Collects elements and attributes that were made of planted text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.texts: list[str] = []
        self.in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.in_script = tag == "script"
        runs = [name for name in values if name.startswith("on")]
        if runs or values.get("src") == "planted" or "javascript:" in (values.get("href") or "").lower():
            self.found.append(self.get_starttag_text() or tag)
        if tag == "script" and "src" not in values and values.get("type") != "application/json":
            self.found.append("an inline script")

    def handle_data(self, data: str) -> None:
        if not self.in_script:
            self.texts.append(data)


@pytest.fixture
def hostile(grief, rosa, emil):
    """Rosa's study with markup in whatever somebody may have typed or uploaded."""
    furnish(grief, rosa, word="x")
    about = {"description": NASTY}
    Study.objects.update(
        title=NASTY, instructions=f"{NASTY}{LINK}", content_warning=NASTY, support_contact=NASTY, **about
    )
    Block.objects.update(title=NASTY)
    Dataset.objects.update(name=NASTY, source=NASTY, licence=NASTY, **about)
    Conversation.objects.update(title=NASTY, metadata={NASTY: NASTY})
    for number, conversation in enumerate(Conversation.objects.all()):
        Conversation.objects.filter(pk=conversation.pk).update(external_id=f"{number}{NASTY}")
    Turn.objects.update(text=NASTY, speaker=NASTY)
    Framework.objects.update(name=NASTY, citation=NASTY)
    Dimension.objects.update(label=NASTY, question=NASTY, guideline=f"{NASTY}{LINK}")
    ScalePoint.objects.update(label=NASTY)
    User.objects.update(name=NASTY)
    Rating.objects.update(comment=NASTY)
    Assignment.objects.update(skip_reason=NASTY)
    Exclusion.objects.update(explanation=NASTY)
    ApiKey.objects.update(name=NASTY)
    Job.objects.update(title=NASTY, message=NASTY)
    ConversationUpload.objects.update(file_name=NASTY)
    SavedMapping.objects.update(name=NASTY)
    Prompt.objects.update(name=SCRIPT)
    PromptVersion.objects.update(note=NASTY, system=NASTY)
    StoredReport.objects.update(title=NASTY, summary={"rows": 1, "methods": [NASTY], "undefined": [[NASTY, 1]]})
    plant_in_runs()
    for rater in Rater.objects.filter(study=grief):
        Rater.objects.filter(pk=rater.pk).update(name=f"{rater.pk}{NASTY}"[:80], source=NASTY)
    header = f"item,{SCRIPT},scale_1\n0x,1,2\n"
    file = SimpleUploadedFile("x.csv", header.encode())
    receive_upload(upload=file, owner=rosa, block=grief.blocks.first(), told=Told(rater="expert1"))
    take_snapshot(study=grief, by=rosa)
    return grief


def plant_in_runs() -> None:
    """In whatever a model or its provider wrote."""
    quotes = [{"text": NASTY, "turn": 0, "start": 0, "end": 9}, {"text": NASTY, "turn": None}]
    request = json.dumps({"messages": [{"role": NASTY, "content": NASTY}]})
    CallAnswer.objects.update(rationale=NASTY, reason=NASTY, notes=[NASTY], evidence=quotes)
    Exchange.objects.update(reply=NASTY, raw=NASTY, request=request, problem=NASTY, finish_reason=NASTY[:60])
    Call.objects.update(problem=NASTY)
    left_out = {"left_out": [[NASTY, NASTY, NASTY]], "left_out_counts": {NASTY: 1}}
    Run.objects.update(state=RunState.PAUSED, pause=Pause.KEY, pause_detail=NASTY, **left_out)


@pytest.mark.parametrize("person", ["rosa", "emil", "ada"])
def test_no_page_makes_an_element_of_what_people_typed(hostile, sign_in, person, request):
    """The owner's, a rater's and an admin's pages, whole and as fragments."""
    user = request.getfixturevalue(person)
    User.objects.filter(pk=user.pk).update(name=NASTY)
    walker = Walker(sign_in(user))
    objects = objects_of(hostile, request.getfixturevalue("rosa"), request.getfixturevalue("emil"))
    faults, shown = [], set()
    for route in every_route():
        for address in objects.addresses(route):
            for headers in ({}, {"HX_Request": "true"}):
                answer = walker.ask("get", address, **headers)
                if not answer.headers.get("Content-Type", "").startswith("text/html"):
                    continue
                page = Planted()
                page.feed(answer.body.decode())
                faults += [f"{address} ({route.name}): {fault}" for fault in page.found]
                if "planted()" in "".join(page.texts):
                    shown.add(route.name)
    assert faults == [], "\n".join(faults)
    # It is there to be read, so the walk has looked at it.
    expected = {"studies:list", "studies:overview"}
    expected |= {"rating:start", "rating:item"} if person == "emil" else {"corpus:dataset", "corpus:conversation"}
    if person == "rosa":
        expected |= {"rating:upload-check", "studies:settings", "studies:raters", "reports:list", "reports:report"}
        expected |= {"agreement:overview", "agreement:scale", "agreement:raters"}
        expected |= {"llm:run", "llm:calls", "llm:call"}
        expected |= {"llm:prompt-version", "llm:prompt-edit", "llm:prompt-diff"}
    assert expected <= shown


def test_the_walk_finds_an_element_that_was_made():
    page = Planted()
    page.feed(f"<p>{SCRIPT}</p><p>{IMAGE}</p><a href='javascript:planted()'>x</a>")
    assert len(page.found) == 3
