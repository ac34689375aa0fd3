"""The Telegram front: cards out, taps and replies in. It knows neither the socket nor the journal."""
