"""`create_endpoint NAME --base-url URL --model MODEL ...`: an endpoint, set up at the machine itself.

The key is never given here: only the name of the environment variable that holds it.
"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.llm.forms.endpoints import EndpointForm, initial_of
from apps.llm.models import Endpoint, MaxTokensName, Provider, ResponseFormat
from apps.llm.providers.protocol import can_send
from apps.llm.services.endpoints import create_endpoint

# What is named by an option of the same name, less its help.
TEXTS = ("base_url", "model", "key_variable", "currency", "price_input", "price_output")
NUMBERS = (
    "reply_tokens",
    "context_tokens",
    "max_concurrent",
    "requests_per_minute",
    "tokens_per_minute",
    "timeout_seconds",
)

NAMED = (*TEXTS, *NUMBERS, "takes_seed")


class Command(BaseCommand):
    help = "Set up an endpoint that models answer at. What is left out is as on the page Endpoints."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--provider", choices=Provider.values, default=Provider.OPENAI.value)
        parser.add_argument("--response-format", choices=ResponseFormat.values)
        parser.add_argument("--max-tokens-name", choices=MaxTokensName.values)
        for name in TEXTS + NUMBERS:
            parser.add_argument(f"--{name.replace('_', '-')}", help=str(EndpointForm.base_fields[name].label))
        parser.add_argument("--takes-seed", action="store_true")
        parser.add_argument("--no-temperature", action="store_true", help="the model takes no temperature")
        parser.add_argument("--if-missing", action="store_true", help="do nothing where an endpoint has the name")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"]
        if options["if_missing"] and Endpoint.objects.filter(name=name).exists():
            return
        form = EndpointForm(self._given(options), initial=initial_of(Endpoint()))
        if not form.is_valid():
            raise CommandError(" ".join(_sentences(form)))
        endpoint = create_endpoint(by=None, **form.cleaned_data)
        self.stdout.write(f"Created the endpoint {endpoint.name} ({endpoint.model}).")

    def _given(self, options: dict[str, Any]) -> dict[str, Any]:
        """What a form would have sent: the defaults, and what the options say."""
        values = {name: value for name, value in initial_of(Endpoint()).items() if value is not None}
        said = ("name", "provider", "response_format", "max_tokens_name", *TEXTS, *NUMBERS)
        values |= {name: options[name] for name in said if options[name] is not None}
        return values | {
            "takes_seed": options["takes_seed"],
            # Nobody claims it here: it is taken where the provider's protocol has one.
            "takes_temperature": not options["no_temperature"] and can_send(options["provider"], "temperature"),
        }


def _sentences(form: EndpointForm) -> list[str]:
    """One for each fault, with the option it is about."""
    return [
        f"--{field.replace('_', '-')}: {message}" if field in NAMED else f"{field}: {message}"
        for field, messages in form.errors.items()
        for message in messages
    ]
