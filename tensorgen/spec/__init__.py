"""YAML with positions becomes checked, frozen dataclasses (`Spec`)."""
