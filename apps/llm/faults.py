"""What can be wrong with a model's answer: kinds to count by, each with what the repair call says of it. Pure."""

from enum import StrEnum


class Fault(StrEnum):
    # The reply as a whole could not be read.
    EMPTY = "empty"
    TOO_LONG = "too_long"
    NO_JSON = "no_json"
    CUT_OFF = "cut_off"
    NOT_JSON = "not_json"
    TOO_DEEP = "too_deep"
    AMBIGUOUS = "ambiguous"
    ARRAY = "array"
    # The answer on one scale does not count.
    MISSING = "missing"
    NOT_AN_OBJECT = "not_an_object"
    REPEATED = "repeated"
    NOT_ALLOWED = "not_allowed"


# Nothing that the model wrote is repeated here, no number either: a score shown once more is a hint.
REPAIRS = {
    Fault.EMPTY: "It was empty.",
    Fault.TOO_LONG: "It was too long.",
    Fault.NO_JSON: "It held no JSON object.",
    Fault.CUT_OFF: "It was cut off before its JSON ended.",
    Fault.NOT_JSON: "Its JSON was not valid.",
    Fault.TOO_DEEP: "Its JSON was nested too deeply.",
    Fault.AMBIGUOUS: "It held more than one JSON object, and they differed.",
    Fault.ARRAY: "It was an array in place of an object.",
    Fault.MISSING: "The score was missing.",
    Fault.NOT_AN_OBJECT: "The answer was not an object with a score.",
    Fault.REPEATED: "A member stood there more than once.",
    Fault.NOT_ALLOWED: "The score was none of the allowed answers.",
}
