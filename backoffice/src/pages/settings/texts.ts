// The texts of settings and sessions.
import type { Texts } from "../../texts/app";

export const SETTINGS: Texts = {
  "setting.general": ["Geral", "General"],
  "setting.mails": ["E-mails a clientes", "Mails to customers"],
  "setting.checkout": ["Carrinho e fechamento", "Cart and checkout"],
  "setting.payments": ["Pagamentos", "Payments"],
  "setting.catalog": ["Catálogo", "Catalogue"],
  "setting.people": ["Pessoas e acesso", "People and access"],
  "setting.marketplace": ["Marketplace", "Marketplace"],
  "setting.apps": ["Aplicativos", "Apps"],
  "setting.legacy": ["API antiga", "Legacy API"],
  "setting.b2b": ["B2B", "B2B"],
  "session.title": ["Onde você entrou", "Where you are signed in"],
  "session.of_others": ["Sessões de todos", "Sessions of everybody"],
  "session.current": ["este navegador", "this browser"],
  "session.unknown": ["Aparelho desconhecido", "Unknown device"],
  "session.used": ["usado em %{time}", "used %{time}"],
  "session.since": ["desde %{time}", "since %{time}"],
  "session.end": ["Encerrar", "End"],
  "session.ended": ["Sessão encerrada", "The session was ended"],
  "session.end_all": ["Encerrar todas", "End all"],
  "idle.title": ["Você ainda está aí?", "Are you still there?"],
  "idle.text": ["Sem uso, você sai em %{smart_count} segundo. |||| Sem uso, você sai em %{smart_count} segundos.", "Without use you are signed out in %{smart_count} second. |||| Without use you are signed out in %{smart_count} seconds."],
  "idle.stay": ["Continuar", "Stay signed in"],
};
