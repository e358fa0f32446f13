"""Every page of prompts, as the walks in a browser open them."""

from django.urls import reverse

from apps.accounts.models import User
from apps.llm.models import Endpoint
from apps.llm.services.example_choice import candidates_of, pick_version_examples
from apps.llm.services.prompting import NewVersion, create_version, default_version
from apps.llm.templates import Use
from apps.studies.models import Item, Study


def pages_of_prompts(owner: User, study: Study) -> dict[str, str]:
    """Of a prompt in two versions, the second with examples; previewed at an endpoint that it does not fit."""
    first = default_version(study=study, by=owner)
    frameworks = tuple(first.frameworks.all())
    examples = pick_version_examples(candidates_of(study=study, frameworks=frameworks), seed=1)
    new = NewVersion(Use.SCALE, "Rate calmly.", first.user, frameworks, examples=examples, note="Calmer words")
    second = create_version(study=study, name=first.prompt.name, new=new, by=owner)
    framework = frameworks[0]
    item = Item.objects.filter(block__study=study).earliest("pk")
    endpoint, _made = Endpoint.objects.get_or_create(
        name="narrow", model="small", defaults={"context_tokens": 500, "price_input": 3, "price_output": 15}
    )
    there = reverse("llm:prompt-version", args=[study.slug, second.pk])
    scale = f"{framework.pk}/{framework.dimensions.earliest('position').pk}"
    asked = f"?preview-item={item.pk}&preview-scale={scale}&preview-endpoint={endpoint.pk}"
    new_address = reverse("llm:prompt-new", args=[study.slug])
    return {
        "llm:prompt-new": new_address,
        "llm:prompt-new, form": f"{new_address}?use=framework",
        "llm:prompt-version": there,
        "llm:prompt-version, preview": there + asked,
        "llm:prompt-edit": reverse("llm:prompt-edit", args=[study.slug, second.pk]),
        "llm:prompt-diff": reverse("llm:prompt-diff", args=[study.slug, first.pk, second.pk]),
        "llm:prompt-delete": reverse("llm:prompt-delete", args=[study.slug, first.pk]),
    }
