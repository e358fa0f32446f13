"""Figures as files have the two widths of a paper's columns."""

import pytest

PAGE = "/studies/warm/agreement/"
FILES = [f"{PAGE}figures/benchmark", f"{PAGE}main/warmth-scales/scale_1/use", f"{PAGE}profiles/gpt"]

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("file", FILES)
def test_a_figure_is_180_or_90_mm_wide(sign_in, rosa, warm_computed, file):
    client = sign_in(rosa)
    wide, narrow = client.get(f"{file}.svg"), client.get(f"{file}.svg?width=90")
    assert 'width="179.9mm"' in wide.text
    assert 'width="90.0mm"' in narrow.text
    assert "var(" not in narrow.text
    assert "-90mm.svg" in narrow["Content-Disposition"]
    assert "90mm" not in wide["Content-Disposition"]
    assert client.get(f"{file}.svg?width=wide").content == wide.content
    picture = client.get(f"{file}.png?width=90")
    assert picture["Content-Type"] == "image/png"
    assert picture.content != client.get(f"{file}.png").content


def test_a_page_offers_both(sign_in, rosa, warm_computed):
    page = sign_in(rosa).get(f"{PAGE}?statistic=kappa_linear").text
    for form in ("svg", "png"):
        for width in ("", "&amp;width=90"):
            assert f'href="{PAGE}figures/benchmark.{form}?statistic=kappa_linear{width}"' in page
