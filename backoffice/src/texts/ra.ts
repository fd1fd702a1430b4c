// Messages of react-admin's components in Portuguese: those that are shown here.
export const portuguese = {
  ra: {
    action: {
      add_filter: "Filtrar", add: "Adicionar", back: "Voltar", bulk_actions: "1 selecionado |||| %{smart_count} selecionados", cancel: "Cancelar",
      clear_array_input: "Limpar a lista", clear_input_value: "Limpar", clone: "Duplicar", confirm: "Confirmar", create: "Criar",
      create_item: "Criar %{item}", delete: "Excluir", edit: "Editar", export: "Exportar", list: "Lista", refresh: "Atualizar",
      remove_filter: "Tirar este filtro", remove_all_filters: "Tirar todos os filtros", remove: "Remover", reset: "Desfazer", save: "Salvar",
      search: "Buscar", search_columns: "Buscar colunas", select_all: "Selecionar tudo", select_all_button: "Selecionar tudo",
      select_row: "Selecionar esta linha", show: "Ver", sort: "Ordenar", undo: "Desfazer", unselect: "Desmarcar", expand: "Abrir", close: "Fechar",
      open_menu: "Abrir o menu", close_menu: "Fechar o menu", update: "Alterar", move_up: "Para cima", move_down: "Para baixo", open: "Abrir",
      toggle_theme: "Tema claro ou escuro", select_columns: "Colunas", update_application: "Recarregar",
    },
    boolean: { true: "Sim", false: "Não", null: " " },
    page: {
      create: "Criar %{name}", dashboard: "Início", edit: "%{name} %{recordRepresentation}", error: "Algo deu errado", list: "%{name}",
      loading: "Carregando", not_found: "Não encontrado", show: "%{name} %{recordRepresentation}", empty: "Ainda não há nada aqui.",
      invite: "Quer criar o primeiro?", access_denied: "Sem permissão", authentication_error: "Erro de acesso",
    },
    input: {
      file: { upload_several: "Solte arquivos aqui ou toque para escolher.", upload_single: "Solte um arquivo aqui ou toque para escolher." },
      image: { upload_several: "Solte imagens aqui ou toque para escolher.", upload_single: "Solte uma imagem aqui ou toque para escolher." },
      references: {
        all_missing: "Não encontrado.", many_missing: "Ao menos um dos registros não existe mais.", single_missing: "O registro não existe mais.",
      },
      password: { toggle_visible: "Esconder a senha", toggle_hidden: "Mostrar a senha" },
    },
    message: {
      about: "Sobre", access_denied: "Você não tem permissão para abrir esta página.", are_you_sure: "Tem certeza?",
      authentication_error: "Não foi possível verificar o seu acesso.", auth_error: "Não foi possível verificar o seu acesso.",
      bulk_delete_content: "Excluir este registro? |||| Excluir estes %{smart_count} registros?",
      bulk_delete_title: "Excluir %{name} |||| Excluir %{smart_count} registros",
      bulk_update_content: "Alterar este registro? |||| Alterar estes %{smart_count} registros?",
      bulk_update_title: "Alterar %{name} |||| Alterar %{smart_count} registros", clear_array_input: "Limpar a lista inteira?",
      delete_content: "Excluir este registro?", delete_title: "Excluir %{name} %{recordRepresentation}", details: "Detalhes",
      error: "Algo deu errado, e a página não pôde ser mostrada.", invalid_form: "Há campos com erro.", loading: "Espere um pouco", no: "Não",
      not_found: "O endereço está errado, ou o registro não existe mais.",
      select_all_limit_reached: "São muitos registros; só os primeiros %{max} foram selecionados.",
      unsaved_changes: "Há alterações que não foram salvas. Sair mesmo assim?", yes: "Sim", placeholder_data_warning: "Não foi possível atualizar.",
    },
    navigation: {
      clear_filters: "Tirar os filtros", no_filtered_results: "Nada encontrado com estes filtros.", no_results: "Nada encontrado",
      no_more_results: "A página %{page} não existe.", page_out_of_boundaries: "A página %{page} não existe",
      page_out_from_end: "Esta é a última página", page_out_from_begin: "Esta é a primeira página",
      page_range_info: "%{offsetBegin}–%{offsetEnd} de %{total}", partial_page_range_info: "%{offsetBegin}–%{offsetEnd} de mais de %{offsetEnd}",
      current_page: "Página %{page}", page: "Ir à página %{page}", first: "Primeira página", last: "Última página", next: "Próxima página",
      previous: "Página anterior", page_rows_per_page: "Por página:", skip_nav: "Ir ao conteúdo",
    },
    sort: { sort_by: "Ordenar por %{field_lower_first} %{order}", ASC: "crescente", DESC: "decrescente" },
    auth: {
      auth_check_error: "Entre para continuar", user_menu: "Perfil", username: "Usuário", password: "Senha", email: "E-mail", sign_in: "Entrar",
      sign_in_error: "Não foi possível entrar", logout: "Sair",
    },
    notification: {
      updated: "Salvo |||| %{smart_count} registros salvos", created: "Criado", deleted: "Excluído |||| %{smart_count} registros excluídos",
      bad_item: "Registro errado", item_doesnt_exist: "O registro não existe mais", http_error: "O servidor não respondeu",
      data_provider_error: "Algo deu errado.", i18n_error: "Não há textos neste idioma", canceled: "Cancelado",
      logged_out: "Sua sessão terminou. Entre de novo.", not_authorized: "Sem permissão.",
      application_update_available: "Há uma nova versão.", offline: "Sem conexão.",
    },
    validation: {
      required: "Obrigatório", minLength: "Ao menos %{min} caracteres", maxLength: "No máximo %{max} caracteres", minValue: "Ao menos %{min}",
      maxValue: "No máximo %{max}", number: "Precisa ser um número", email: "Precisa ser um e-mail", oneOf: "Um destes: %{options}",
      regex: "Fora do formato %{pattern}", unique: "Já existe",
    },
  },
};
