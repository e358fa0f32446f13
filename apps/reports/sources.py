"""Where each statistic comes from: its name in a sentence and the publications it is cited with. Pure."""

from dataclasses import dataclass

COHEN_1960 = (
    "Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological Measurement, "
    "20(1), 37-46."
)
COHEN_1968 = (
    "Cohen, J. (1968). Weighted kappa: nominal scale agreement with provision for scaled disagreement or partial "
    "credit. Psychological Bulletin, 70(4), 213-220."
)
FLEISS_1969 = (
    "Fleiss, J. L., Cohen, J., & Everitt, B. S. (1969). Large sample standard errors of kappa and weighted kappa. "
    "Psychological Bulletin, 72(5), 323-327."
)
FLEISS_1971 = (
    "Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin, 76(5), 378-382."
)
CONGER_1980 = (
    "Conger, A. J. (1980). Integration and generalization of kappas for multiple raters. Psychological Bulletin, "
    "88(2), 322-328."
)
KRIPPENDORFF_2019 = "Krippendorff, K. (2019). Content analysis: an introduction to its methodology (4th ed.). SAGE."
GWET_2014 = "Gwet, K. L. (2014). Handbook of inter-rater reliability (4th ed.). Advanced Analytics."
BRENNAN_1981 = (
    "Brennan, R. L., & Prediger, D. J. (1981). Coefficient kappa: some uses, misuses, and alternatives. Educational "
    "and Psychological Measurement, 41(3), 687-699."
)
SHROUT_1979 = (
    "Shrout, P. E., & Fleiss, J. L. (1979). Intraclass correlations: uses in assessing rater reliability. "
    "Psychological Bulletin, 86(2), 420-428."
)
SPEARMAN_1904 = (
    "Spearman, C. (1904). The proof and measurement of association between two things. The American Journal of "
    "Psychology, 15(1), 72-101."
)
KENDALL_1945 = "Kendall, M. G. (1945). The treatment of ties in ranking problems. Biometrika, 33(3), 239-251."
KENDALL_1970 = "Kendall, M. G. (1970). Rank correlation methods (4th ed.). Griffin."
LIN_1989 = (
    "Lin, L. I.-K. (1989). A concordance correlation coefficient to evaluate reproducibility. Biometrics, 45(1), "
    "255-268."
)
EFRON_1993 = "Efron, B., & Tibshirani, R. J. (1993). An introduction to the bootstrap. Chapman & Hall."
BENJAMINI_1995 = (
    "Benjamini, Y., & Hochberg, Y. (1995). Controlling the false discovery rate: a practical and powerful approach to "
    "multiple testing. Journal of the Royal Statistical Society B, 57(1), 289-300."
)
# As the framework Lend an Ear cites it, so that a report lists it once.
KUMAR_2026 = (
    "Kumar, A., Poungpeth, N., Yang, D., Farrell, E., Lambert, B. L., & Groh, M. (2026). When large language models "
    "are reliable for judging empathic communication. Nature Machine Intelligence, 8(2), 173–185. "
    "doi:10.1038/s42256-025-01169-6"
)


@dataclass(frozen=True, slots=True)
class Source:
    """Statistics that are named together in a sentence."""

    statistics: tuple[str, ...]
    name: str
    references: tuple[str, ...] = ()


class References:
    """Publications in the order in which they are first cited."""

    def __init__(self) -> None:
        self.listed: list[str] = []

    def cite(self, *references: str) -> str:
        """` [1, 2]`, or nothing for nothing."""
        numbers = []
        for reference in references:
            if reference and reference not in self.listed:
                self.listed.append(reference)
            if reference:
                numbers.append(str(self.listed.index(reference) + 1))
        return f" [{', '.join(dict.fromkeys(numbers))}]" if numbers else ""


PAIRS = (
    Source(("kappa_quadratic",), "quadratic weighted kappa", (COHEN_1968,)),
    Source(("kappa_linear",), "linear weighted kappa", (COHEN_1968,)),
    Source(("kappa_unweighted",), "unweighted kappa", (COHEN_1960,)),
    Source(("percent_agreement",), "percent agreement"),
    Source(("within_one",), "the share of items on which two sides are at most one point apart"),
    Source(("spearman",), "Spearman's rank correlation", (SPEARMAN_1904,)),
    Source(("kendall_tau_b",), "Kendall's tau-b", (KENDALL_1945,)),
    Source(("mae",), "the mean absolute difference"),
    Source(("bias",), "the mean signed difference"),
    Source(("f1_weighted",), "the weighted F1 score with the reference side as truth"),
)
GROUPS = (
    Source(("alpha_nominal",), "Krippendorff's alpha (nominal)", (KRIPPENDORFF_2019,)),
    Source(("alpha_ordinal",), "Krippendorff's alpha (ordinal)", (KRIPPENDORFF_2019,)),
    Source(("alpha_interval",), "Krippendorff's alpha (interval)", (KRIPPENDORFF_2019,)),
    Source(("alpha_ratio",), "Krippendorff's alpha (ratio)", (KRIPPENDORFF_2019,)),
    Source(("fleiss_kappa",), "Fleiss' kappa", (FLEISS_1971,)),
    Source(("conger_kappa",), "Conger's kappa", (CONGER_1980,)),
    Source(("ac1",), "Gwet's AC1", (GWET_2014,)),
    Source(("ac2_linear", "ac2_quadratic"), "Gwet's AC2", (GWET_2014,)),
    Source(("brennan_prediger",), "the Brennan-Prediger coefficient", (BRENNAN_1981,)),
    Source(
        ("icc_1_1", "icc_2_1", "icc_3_1", "icc_1_k", "icc_2_k", "icc_3_k"),
        "intraclass correlations on items that every rater rated",
        (SHROUT_1979,),
    ),
    Source(("percent_agreement",), "percent agreement"),
)
RETESTS = (
    Source(("retest_kappa_quadratic",), "quadratic weighted kappa", (COHEN_1968,)),
    Source(("retest_mae",), "the mean absolute difference"),
)
