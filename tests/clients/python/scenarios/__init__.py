"""Scenarios by area."""
