"""Old names, until all ask for the new ones."""

from .model_columns import (  # noqa: F401
    CORRELATION_MARGIN,
    LEAN,
    ModelColumns as Systems,
    plain_columns as plain_places,
    resting_columns,
    TILT,
)
