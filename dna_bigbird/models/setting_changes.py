"""What dataclasses of changed settings share; read without torch."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from dna_bigbird.core.choices import check_fields

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class SettingChanges:
    """Settings that differ from those of another model; each field is None or a new value.

    A subclass is a frozen dataclass with fields of the settings that it changes.
    """

    GROUP: ClassVar[str]
    """Of the options, for messages."""

    def __post_init__(self) -> None:
        check_fields(self, self.GROUP)

    @property
    def values(self) -> dict[str, Any]:
        """The settings that are given, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def applied_to(self, settings: Settings) -> Settings:
        """Return settings with these changes.

        Raises:
            ValueError: If the settings contradict each other.
        """
        return replace(settings, **self.values)
