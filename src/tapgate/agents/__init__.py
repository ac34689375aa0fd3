"""The agents, one folder each: what each of them sends and accepts. registry.py knows which there are."""
