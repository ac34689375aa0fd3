"""A call's parameters: out of a query, a form, a multipart body or JSON, read with Telegram's leniency."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message as Headers
from typing import Any
from urllib.parse import parse_qsl

from .model import Json
from .refusal import bad_request


@dataclass(frozen=True, slots=True)
class Upload:
    file_name: str
    mime_type: str
    content: bytes


@dataclass(slots=True)
class Params:
    values: Json
    uploads: dict[str, Upload] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    def get(self, name: str) -> Any:
        self.asked.add(name)
        return self.values.get(name)

    def text(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        return value if isinstance(value, str) else json.dumps(value)

    def integer(self, name: str, default: int = 0) -> int:
        """Telegram reads what is no number as 0."""
        value = self.get(name)
        if value is None or value == "":
            return default
        try:
            return int(value)
        except (TypeError, ValueError):
            return 0

    def flag(self, name: str) -> bool:
        return self.text(name).strip().lower() in ("true", "yes", "1")

    def json(self, name: str, what: str) -> Any:
        """A value that may be an object already, or the JSON of one."""
        value = self.get(name)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            return json.loads(value)
        except ValueError:
            raise bad_request(f"can't parse {what} JSON object") from None

    def upload(self, name: str) -> Upload | None:
        """The file sent under this name, directly or by attach://."""
        value = self.get(name)
        key = value.removeprefix("attach://") if isinstance(value, str) else name
        self.asked.add(key)
        return self.uploads.get(key)

    def recorded(self) -> Json:
        """For the log of calls: all values, with files as name and size."""
        files = {
            name: {"file_name": upload.file_name, "size": len(upload.content)} for name, upload in self.uploads.items()
        }
        return {**self.values, **files}

    def unknown(self) -> list[str]:
        return sorted(set(self.recorded()) - self.asked)


def parse_params(*, query: bytes, content_type: str, body: bytes) -> Params:
    try:
        params = Params(dict(_pairs(query)))
        headers = Headers()
        headers["content-type"] = content_type or "application/octet-stream"
        kind = headers.get_content_type()
        if kind == "application/x-www-form-urlencoded":
            params.values.update(_pairs(body))
        elif kind == "application/json" and body.strip():
            value = json.loads(body)
            if not isinstance(value, dict):
                raise bad_request("can't parse request body: object expected")
            params.values.update({name: item for name, item in value.items() if item is not None})
        elif kind == "multipart/form-data":
            _read_multipart(body, str(headers.get_param("boundary") or ""), params)
    except UnicodeDecodeError:
        raise bad_request("strings must be encoded in UTF-8") from None
    except json.JSONDecodeError:
        raise bad_request("can't parse request body as JSON") from None
    _check_strings(params.values)
    return params


def _pairs(encoded: bytes) -> list[tuple[str, str]]:
    return parse_qsl(encoded.decode(), keep_blank_values=True, errors="strict")


def _check_strings(values: Mapping[str, Any]) -> None:
    for value in values.values():
        if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            raise bad_request("strings must be encoded in UTF-8")


def _read_multipart(body: bytes, boundary: str, params: Params) -> None:
    if not boundary:
        raise bad_request("boundary not found in multipart body")
    # With the line break in front, the delimiter cannot occur inside a part.
    parts = (b"\r\n" + body).split(b"\r\n--" + boundary.encode())
    for part in parts[1:]:
        if part.startswith(b"--"):
            return
        head, separator, content = part.partition(b"\r\n\r\n")
        if not separator:
            raise bad_request("can't parse multipart body")
        headers = Headers()
        for line in head.decode().strip().split("\r\n"):
            name, _, value = line.partition(":")
            headers[name.strip()] = value.strip()
        name = _disposition(headers, "name")
        file_name = _disposition(headers, "filename")
        if file_name:
            params.uploads[name] = Upload(file_name, headers.get_content_type(), content)
        else:
            params.values[name] = content.decode()


def _disposition(headers: Headers, name: str) -> str:
    value = headers.get_param(name, header="content-disposition", unquote=True)
    if isinstance(value, tuple):  # RFC 2231: charset, language, text
        return value[2]
    return str(value).replace("%22", '"') if value is not None else ""
