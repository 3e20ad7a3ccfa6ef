"""Classify individuals from group shares, helped by labelled history."""
