"""The words of a study's blocks and scales, as they are now. Few queries, however many scales."""

from apps.frameworks.models import Dimension, Framework
from apps.reliability.labels import BlockLabel, DimensionLabel, FrameworkLabel, Labels, PointLabel
from apps.studies.models import Block, BlockFramework, Study


def labels_of(study: Study) -> Labels:
    used = list(
        BlockFramework.objects.filter(block__study=study)
        .select_related("block__dataset")
        .order_by("block__position", "position")
    )
    frameworks = Framework.objects.filter(pk__in={one.framework_id for one in used}).with_scales()
    by_key = {one.pk: one for one in frameworks}
    blocks = dict.fromkeys(one.block for one in used)
    return Labels(
        tuple(_block(block, [by_key[one.framework_id] for one in used if one.block == block]) for block in blocks),
        tuple(_framework(by_key[pk]) for pk in dict.fromkeys(one.framework_id for one in used)),
    )


def _block(block: Block, frameworks: list[Framework]) -> BlockLabel:
    dataset = block.dataset
    return BlockLabel(
        slug=block.slug,
        title=block.title,
        dataset=dataset.name,
        source=dataset.source,
        licence=dataset.licence,
        frameworks=tuple((one.slug, one.version) for one in frameworks),
    )


def _framework(framework: Framework) -> FrameworkLabel:
    return FrameworkLabel(
        slug=framework.slug,
        version=framework.version,
        name=framework.name,
        citation=framework.citation,
        url=framework.url,
        language=framework.language,
        stem=framework.stem,
        dimensions=tuple(_dimension(one) for one in framework.dimensions.all()),
    )


def _dimension(dimension: Dimension) -> DimensionLabel:
    return DimensionLabel(
        slug=dimension.slug,
        label=dimension.label,
        question=dimension.question,
        level=dimension.level,
        polarity=dimension.polarity_name,
        points=tuple(PointLabel(point.value, point.label) for point in dimension.points.all()),
    )
