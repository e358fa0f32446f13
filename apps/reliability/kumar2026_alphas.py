"""The 42 alphas of Kumar et al. 2026, as printed.

Source: the notebook of the authors' public replication repository
aakriti1kumar/replication-data-and-code-when-LLMs-reliable-empathic-communication (doi:10.5281/zenodo.17230987), which
prints Krippendorff's interval alpha to three decimals: among the three experts, and among the models. The models are
GPT-4o and Claude only: the notebook filters by names, and finds no row of Gemini under the one it looks for.
"""

# (framework, dimension) -> alpha among experts, alpha among GPT-4o and Claude
PUBLISHED_ALPHAS: dict[tuple[str, str], tuple[float, float]] = {
    ("empathetic-dialogues", "empathy"): (0.529, 0.629),
    ("empathetic-dialogues", "fluency"): (0.290, 0.647),
    ("empathetic-dialogues", "relevance"): (0.487, 0.436),
    ("epitome", "emotional_reactions"): (0.466, 0.779),
    ("epitome", "explorations"): (0.780, 0.782),
    ("epitome", "interpretations"): (0.316, 0.312),
    ("perceived-empathy", "understood"): (0.570, 0.769),
    ("perceived-empathy", "validated"): (0.643, 0.791),
    ("perceived-empathy", "affirmed"): (0.577, 0.770),
    ("perceived-empathy", "seen"): (0.545, 0.819),
    ("perceived-empathy", "accepted"): (0.521, 0.498),
    ("perceived-empathy", "cared_for"): (0.485, 0.731),
    ("perceived-empathy", "emotional"): (0.628, 0.765),
    ("perceived-empathy", "practical"): (0.759, 0.913),
    ("perceived-empathy", "motivation"): (0.696, 0.657),
    ("lend-an-ear", "validating_emotions"): (0.361, 0.614),
    ("lend-an-ear", "encouraging_elaboration"): (0.677, 0.860),
    ("lend-an-ear", "demonstrating_understanding"): (0.416, 0.427),
    ("lend-an-ear", "self_oriented"): (0.672, 0.886),
    ("lend-an-ear", "advice_giving"): (0.649, 0.577),
    ("lend-an-ear", "dismissing_emotions"): (0.436, 0.819),
}
