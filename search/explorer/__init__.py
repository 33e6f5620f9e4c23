"""The explorer: a web page that shows searches of small trees and of chess positions step by step."""
