"""The client that waits."""

# Generated from ../_async/__init__.py by generate.py. Do not edit.
