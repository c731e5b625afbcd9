"""Settings of the heads of text tasks; read without torch.

Each is a frozen dataclass with fields of type int, float, bool or str. Classification has
`models.config.HeadConfig`.
"""
