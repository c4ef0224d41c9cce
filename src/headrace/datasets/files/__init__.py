"""Loose files as a table in memory that all processes of a node share."""
