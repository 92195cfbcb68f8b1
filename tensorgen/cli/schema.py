"""`tensorgen schema`: what editors complete and check spec files by."""

from __future__ import annotations

import json

import click

from tensorgen.cli import streams


@click.command("schema")
def command() -> None:
    """Print the JSON Schema of spec files.

    Editors with a YAML language server complete and check a spec that names the schema
    in its first line:

        # yaml-language-server: $schema=tensorgen.schema.json
    """
    from tensorgen.spec.schema import spec_schema

    streams.write(json.dumps(spec_schema(), indent=2) + "\n")
